//! Keys, certificates and kubeconfigs of the cluster, made by `openssl`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::layout::{API_ADDRESS, Layout, Node, SERVICE_ADDRESS};
use crate::command;

/// Clients of the API server that get a kubeconfig, with the subject of their certificates.
const CLIENTS: [(&str, &str); 4] = [
    ("admin", "/O=system:masters/CN=admin"),
    ("kube-controller-manager", "/CN=system:kube-controller-manager"),
    ("kube-scheduler", "/CN=system:kube-scheduler"),
    ("kube-proxy", "/CN=system:kube-proxy"),
];

/// Makes everything.
///
/// # Errors
/// When `openssl` fails or a file cannot be written.
pub fn make(layout: &Layout) -> Result<()> {
    key(layout, "ca")?;
    openssl(&[
        "req",
        "-x509",
        "-new",
        "-days",
        "3650",
        "-subj",
        "/CN=gaugeblock-test",
        "-key",
        &text(&layout.pki("ca.key")),
        "-out",
        &text(&layout.pki("ca.crt")),
    ])?;
    let server = format!(
        "DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:localhost,\
         IP:{SERVICE_ADDRESS},IP:{API_ADDRESS},IP:127.0.0.1"
    );
    certify(layout, "kube-apiserver", "/CN=kube-apiserver", &server)?;
    certify(layout, "kubelet-client", "/O=system:masters/CN=kube-apiserver-kubelet", "DNS:none")?;
    for (user, subject) in CLIENTS {
        certify(layout, user, subject, "DNS:none")?;
        kubeconfig(layout, user)?;
    }
    for node in [Node::A, Node::B, Node::C] {
        let name = node.name();
        let subject = format!("/O=system:nodes/CN=system:node:{name}");
        certify(layout, name, &subject, &format!("DNS:{name},IP:{}", node.address()))?;
        kubeconfig(layout, name)?;
    }
    // Tokens of service accounts are signed by a pair of its own.
    key(layout, "service-account")?;
    openssl(&[
        "pkey",
        "-pubout",
        "-in",
        &text(&layout.pki("service-account.key")),
        "-out",
        &text(&layout.pki("service-account.pub")),
    ])
}

/// Makes a key and a certificate for `name`.
fn certify(layout: &Layout, name: &str, subject: &str, alternative_names: &str) -> Result<()> {
    key(layout, name)?;
    let request = layout.pki(&format!("{name}.csr"));
    openssl(&[
        "req",
        "-new",
        "-subj",
        subject,
        "-key",
        &text(&layout.pki(&format!("{name}.key"))),
        "-addext",
        &format!("subjectAltName={alternative_names}"),
        "-out",
        &text(&request),
    ])?;
    openssl(&[
        "x509",
        "-req",
        "-days",
        "3650",
        "-copy_extensions",
        "copy",
        "-CAcreateserial",
        "-CA",
        &text(&layout.pki("ca.crt")),
        "-CAkey",
        &text(&layout.pki("ca.key")),
        "-in",
        &text(&request),
        "-out",
        &text(&layout.pki(&format!("{name}.crt"))),
    ])
}

fn key(layout: &Layout, name: &str) -> Result<()> {
    let path = text(&layout.pki(&format!("{name}.key")));
    openssl(&["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", &path])
}

fn kubeconfig(layout: &Layout, user: &str) -> Result<()> {
    let encoded = |file: &str| -> Result<String> {
        let path = layout.pki(file);
        let bytes = fs::read(&path).with_context(|| format!("failed to read {}", path.display()))?;
        Ok(STANDARD.encode(bytes))
    };
    let text = format!(
        "apiVersion: v1\n\
         kind: Config\n\
         clusters: [{{name: test, cluster: {{server: \"https://{API_ADDRESS}:6443\", certificate-authority-data: {}}}}}]\n\
         users: [{{name: {user}, user: {{client-certificate-data: {}, client-key-data: {}}}}}]\n\
         contexts: [{{name: test, context: {{cluster: test, user: {user}}}}}]\n\
         current-context: test\n",
        encoded("ca.crt")?,
        encoded(&format!("{user}.crt"))?,
        encoded(&format!("{user}.key"))?,
    );
    let path = layout.kubeconfig(user);
    fs::write(&path, text).with_context(|| format!("failed to write {}", path.display()))
}

fn openssl(arguments: &[&str]) -> Result<()> {
    command::run(Command::new("openssl").args(arguments)).map(drop)
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
