//! Throw-away Postgres servers from the machine's own programs.
//!
//! The data are made once per run, with schema and rows, and copied for each trial: every trial
//! starts from the same bytes, freshly written, as fast as a copy. A server listens on 127.0.0.1
//! only, under a password of the run's, and is gone with its data when its trial is over.
//!
//! Collation is `C` on every machine, while an image brings its own; memory limits of the manifest
//! are not enforced.

mod binaries;
mod server;
mod template;

pub use binaries::{Binaries, NoServer, version_of_image};
pub use server::{Login, Server, Start, psql};
pub use template::{Recipe, Template, TemplateError, private_folder};
