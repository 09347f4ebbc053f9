//! Where the database is: `DATABASE_URL`, or else libpq's `PGHOST` and its companions.

/// How to reach Postgres.
#[derive(Clone, PartialEq, Eq)]
pub struct Settings {
    /// Name or address; a path names the directory of a Unix socket.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Role.
    pub user: String,
    /// Password, perhaps empty.
    pub password: String,
    /// Database.
    pub database: String,
}

/// Why the environment's words about the database cannot be used. None of them repeats a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// `DATABASE_URL` has another form.
    #[error("failed to read DATABASE_URL: expected postgres://USER:PASSWORD@HOST:PORT/DATABASE")]
    Url,
    /// The port is no number.
    #[error("failed to read the port of the database")]
    Port,
}

impl Settings {
    /// Reads the variables through `variable`; `None` when neither `DATABASE_URL` nor `PGHOST` is set.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, SettingsError> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        if let Some(url) = variable("DATABASE_URL") {
            return Self::from_url(&url).map(Some);
        }
        let Some(host) = variable("PGHOST") else {
            return Ok(None);
        };
        let port = variable("PGPORT").map_or(Ok(5432), |port| port.parse()).map_err(|_| SettingsError::Port)?;
        let user = variable("PGUSER").unwrap_or_else(|| "postgres".to_owned());
        let database = variable("PGDATABASE").unwrap_or_else(|| user.clone());
        Ok(Some(Self { host, port, user, password: variable("PGPASSWORD").unwrap_or_default(), database }))
    }

    fn from_url(url: &str) -> Result<Self, SettingsError> {
        let rest = url.strip_prefix("postgres://").or_else(|| url.strip_prefix("postgresql://"));
        let rest = rest.ok_or(SettingsError::Url)?;
        let rest = rest.split_once('?').map_or(rest, |(before, _)| before);
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, place) = authority.rsplit_once('@').unwrap_or(("postgres", authority));
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port.parse().map_err(|_| SettingsError::Port)?),
            _ => (place, 5432),
        };
        let decoded = |text: &str| decoded(text).ok_or(SettingsError::Url);
        let user = decoded(user)?;
        let host = decoded(host.trim_start_matches('[').trim_end_matches(']'))?;
        if host.is_empty() {
            return Err(SettingsError::Url);
        }
        let database = if database.is_empty() { user.clone() } else { decoded(database)? };
        Ok(Self { host, port, user, password: decoded(password)?, database })
    }
}

/// Undoes percent-encoding (RFC 3986, section 2.1).
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(after.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &after[2..];
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Option<[String; 5]>, SettingsError> {
        let find = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        let settings = Settings::read(find)?;
        Ok(settings.map(|s| [s.host, s.port.to_string(), s.user, s.password, s.database]))
    }

    fn words(words: [&str; 5]) -> [String; 5] {
        words.map(str::to_owned)
    }

    #[test]
    fn without_variables_there_is_no_database() {
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&[("PGHOST", ""), ("PGUSER", "u")]), Ok(None));
    }

    #[test]
    fn libpqs_variables_have_libpqs_defaults() {
        assert_eq!(read(&[("PGHOST", "db")]), Ok(Some(words(["db", "5432", "postgres", "", "postgres"]))));
        let all = [("PGHOST", "/run"), ("PGPORT", "6"), ("PGUSER", "u"), ("PGPASSWORD", "p"), ("PGDATABASE", "d")];
        assert_eq!(read(&all), Ok(Some(words(["/run", "6", "u", "p", "d"]))));
        assert_eq!(read(&[("PGHOST", "db"), ("PGPORT", "x")]), Err(SettingsError::Port));
    }

    #[test]
    fn a_url_beats_the_variables() {
        let both = [("PGHOST", "other"), ("DATABASE_URL", "postgres://u:p%40s@db:6/d?sslmode=disable")];
        assert_eq!(read(&both), Ok(Some(words(["db", "6", "u", "p@s", "d"]))));
        assert_eq!(read(&[("DATABASE_URL", "postgresql://u@[::1]/d")]), Ok(Some(words(["::1", "5432", "u", "", "d"]))));
        assert_eq!(
            read(&[("DATABASE_URL", "postgres://db")]),
            Ok(Some(words(["db", "5432", "postgres", "", "postgres"])))
        );
        assert_eq!(read(&[("DATABASE_URL", "mysql://db")]), Err(SettingsError::Url));
        assert_eq!(read(&[("DATABASE_URL", "postgres:///d")]), Err(SettingsError::Url));
    }
}
