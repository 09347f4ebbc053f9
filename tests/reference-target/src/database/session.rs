//! Opens one session with Postgres: connects, proves who it is, prepares the statements.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::{md5_hash, sasl};
use postgres_protocol::message::backend::{ErrorResponseBody, Message};
use postgres_protocol::message::frontend;

use super::query::STATEMENTS;
use super::settings::Settings;

/// Longest wait for one address to answer, so that a restarting database is soon found again.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);
/// Longest wait for one answer of the server while the session opens.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a session could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// No address, or none that answers.
    #[error("failed to connect to the database")]
    Connect(#[source] std::io::Error),
    /// The connection broke while the session opened.
    #[error("failed to talk to the database")]
    Talk(#[from] std::io::Error),
    /// The server asks for a proof that this service does not know.
    #[error("failed to authenticate: the server asks for a method other than password, md5 and SCRAM-SHA-256")]
    Method,
    /// The server said no.
    #[error("failed to open the session: {0}")]
    Refused(String),
}

/// Opens a session whose statements are prepared, ready for a query.
pub fn open(settings: &Settings) -> Result<File, SessionError> {
    let mut session = Opening { stream: connect(settings)?, input: BytesMut::new() };
    let parameters = [
        ("user", settings.user.as_str()),
        ("database", &settings.database),
        ("client_encoding", "UTF8"),
        ("application_name", "gaugeblock-reference-target"),
    ];
    session.send(|out| frontend::startup_message(parameters, out))?;
    session.authenticate(settings)?;
    session.wait_until_ready()?;
    session.send(|out| {
        for (name, query) in STATEMENTS {
            frontend::parse(name, query, [], out)?;
        }
        frontend::sync(out);
        Ok(())
    })?;
    session.wait_until_ready()?;
    Ok(session.stream)
}

fn connect(settings: &Settings) -> Result<File, SessionError> {
    if settings.host.starts_with('/') {
        let path = format!("{}/.s.PGSQL.{}", settings.host, settings.port);
        let stream = UnixStream::connect(path).map_err(SessionError::Connect)?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT)).map_err(SessionError::Connect)?;
        return Ok(File::from(OwnedFd::from(stream)));
    }
    let addresses = (settings.host.as_str(), settings.port).to_socket_addrs().map_err(SessionError::Connect)?;
    let mut last = std::io::Error::from(std::io::ErrorKind::NotFound);
    for address in addresses {
        match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
            Ok(stream) => {
                stream.set_nodelay(true).map_err(SessionError::Connect)?;
                stream.set_read_timeout(Some(ANSWER_TIMEOUT)).map_err(SessionError::Connect)?;
                return Ok(File::from(OwnedFd::from(stream)));
            }
            Err(error) => last = error,
        }
    }
    Err(SessionError::Connect(last))
}

/// A session that is being opened, with blocking calls.
struct Opening {
    stream: File,
    input: BytesMut,
}

impl Opening {
    fn send(&mut self, write: impl FnOnce(&mut BytesMut) -> std::io::Result<()>) -> Result<(), SessionError> {
        let mut out = BytesMut::new();
        write(&mut out)?;
        Ok(self.stream.write_all(&out)?)
    }

    fn receive(&mut self) -> Result<Message, SessionError> {
        loop {
            if let Some(message) = Message::parse(&mut self.input)? {
                if let Message::ErrorResponse(error) = &message {
                    return Err(SessionError::Refused(reason(error)));
                }
                return Ok(message);
            }
            let mut part = [0; 4096];
            let length = self.stream.read(&mut part)?;
            if length == 0 {
                return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into());
            }
            self.input.extend_from_slice(&part[..length]);
        }
    }

    fn authenticate(&mut self, settings: &Settings) -> Result<(), SessionError> {
        let password = settings.password.as_bytes();
        loop {
            match self.receive()? {
                Message::AuthenticationOk => return Ok(()),
                Message::AuthenticationCleartextPassword => {
                    self.send(|out| frontend::password_message(password, out))?;
                }
                Message::AuthenticationMd5Password(body) => {
                    let hash = md5_hash(settings.user.as_bytes(), password, body.salt());
                    self.send(|out| frontend::password_message(hash.as_bytes(), out))?;
                }
                Message::AuthenticationSasl(_) => self.prove_by_scram(password)?,
                _ => return Err(SessionError::Method),
            }
        }
    }

    /// SCRAM-SHA-256 (RFC 7677), which every server that offers SASL without TLS offers.
    fn prove_by_scram(&mut self, password: &[u8]) -> Result<(), SessionError> {
        let mut scram = sasl::ScramSha256::new(password, sasl::ChannelBinding::unsupported());
        self.send(|out| frontend::sasl_initial_response(sasl::SCRAM_SHA_256, scram.message(), out))?;
        let Message::AuthenticationSaslContinue(body) = self.receive()? else {
            return Err(SessionError::Method);
        };
        scram.update(body.data())?;
        self.send(|out| frontend::sasl_response(scram.message(), out))?;
        let Message::AuthenticationSaslFinal(body) = self.receive()? else {
            return Err(SessionError::Method);
        };
        Ok(scram.finish(body.data())?)
    }

    fn wait_until_ready(&mut self) -> Result<(), SessionError> {
        while !matches!(self.receive()?, Message::ReadyForQuery(_)) {}
        Ok(())
    }
}

/// The server's own sentence in an error message.
pub fn reason(error: &ErrorResponseBody) -> String {
    let mut fields = error.fields();
    while let Ok(Some(field)) = fields.next() {
        if field.type_() == b'M' {
            return String::from_utf8_lossy(field.value_bytes()).into_owned();
        }
    }
    "no reason given".to_owned()
}
