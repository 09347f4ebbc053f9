//! Opens sessions beside the workers, again and again until the database lets it.

use std::sync::Arc;
use std::time::Duration;

use super::session;
use super::settings::Settings;
use crate::inbox::Parcel;
use crate::service::Service;

/// Between two tries: short, as a database that has just started is part of what tests time.
const PAUSE: Duration = Duration::from_millis(50);

/// Opens as many sessions for each worker as the knobs say; then the service knows that its database is there.
pub fn open_all(service: &Arc<Service>, settings: &Settings) {
    let (service, settings) = (Arc::clone(service), settings.clone());
    std::thread::spawn(move || {
        for worker in 0..service.inboxes.len() {
            for _ in 0..service.knobs.postgres_connections {
                open_one(&service, &settings, worker);
            }
        }
        service.readiness.database_is_there();
    });
}

/// Opens one session in place of one that `worker` lost.
pub fn replace(service: &Arc<Service>, settings: &Settings, worker: usize) {
    let (service, settings) = (Arc::clone(service), settings.clone());
    std::thread::spawn(move || open_one(&service, &settings, worker));
}

fn open_one(service: &Service, settings: &Settings, worker: usize) {
    let mut told = None;
    loop {
        match session::open(settings) {
            Ok(session) => return service.inboxes[worker].put(Parcel::Session(session)),
            Err(error) => {
                let words = with_source(&error);
                if told.as_ref() != Some(&words) {
                    eprintln!("{words}; trying again");
                    told = Some(words);
                }
            }
        }
        std::thread::sleep(PAUSE);
    }
}

fn with_source(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
}
