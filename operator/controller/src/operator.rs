//! The operator as a whole: starts the watches, waits until they have told what there is, and looks
//! at runs until it is told to stop.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::{StreamExt as _, channel::mpsc};
use kube::{
    Client, Config,
    runtime::{
        Controller,
        controller::{self, Error as ControllerError},
        events::{Recorder, Reporter},
    },
};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::Notify,
    task::JoinSet,
};
use tracing::{debug, error, info, warn};

use crate::{
    execute::Executor,
    observe::Installation,
    options::Options,
    reconcile::{Context, after_error, reconcile},
    sweep,
    watch::{self, Scope, Triggers},
};

/// Name under which the operator reports.
pub const NAME: &str = "gaugeblock-operator";
/// A watch is ended by the server after at most 290 s, so silence beyond that is a dead connection.
const SILENCE: Duration = Duration::from_secs(295);
/// A burst of events about one run is one reason to look.
const DEBOUNCE: Duration = Duration::from_millis(10);
/// Time for what is under way when the operator is told to stop.
const GRACE: Duration = Duration::from_secs(20);

/// Why the operator could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It does not know where the API server is.
    #[error("failed to find the API server: neither a kubeconfig nor a service account is there")]
    Config(#[from] kube::config::InferConfigError),
    /// It cannot talk to the API server.
    #[error("failed to make a client")]
    Client(#[from] kube::Error),
    /// It cannot hear when it is told to stop.
    #[error("failed to listen for signals")]
    Signal(#[from] std::io::Error),
    /// A watch ended before it had told anything.
    #[error("failed to fill the caches")]
    Watch(#[from] kube::runtime::reflector::store::WriterDropped),
}

/// Runs the operator until it is told to stop.
pub async fn run(options: Options) -> Result<(), StartError> {
    let Options { operator_namespace, watch_namespace, measuring_image, log: _, log_format: _ } = options;
    let client = client().await?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (run, looks) = mpsc::unbounded();
    let triggers = Triggers { run, sweep: Arc::new(Notify::new()) };
    let scope = Scope { operator_namespace: operator_namespace.clone(), watch_namespace };
    let mut tasks = JoinSet::new();
    let caches = watch::start(&client, &scope, &triggers, &mut tasks);
    info!(version = env!("CARGO_PKG_VERSION"), ?scope, measuring_image, "starting");
    tokio::select! {
        ready = caches.ready() => ready?,
        _ = terminate.recv() => return Ok(()),
        _ = interrupt.recv() => return Ok(()),
    }
    info!(runs = caches.runs.len(), "the caches are filled");

    let context = Arc::new(Context {
        executor: Executor::new(client.clone(), &operator_namespace),
        recorder: Recorder::new(client.clone(), reporter()),
        client,
        installation: Installation { operator_namespace, measuring_image },
        caches: caches.clone(),
        failures: Mutex::new(BTreeMap::new()),
    });
    tasks.spawn(sweep::run(Arc::clone(&context), Arc::clone(&triggers.sweep)));

    let (stop, stopped) = futures::channel::oneshot::channel::<()>();
    // All triggers come from the watches above; the controller adds order, one look at a time for
    // each run, and the next look in time.
    let looks = Controller::for_stream(futures::stream::pending(), caches.runs.clone())
        .reconcile_on(looks)
        .with_config(controller::Config::default().debounce(DEBOUNCE))
        .graceful_shutdown_on(async move {
            let _ = stopped.await;
        })
        .run(reconcile, after_error, context)
        .for_each(|look| async { report(look) });
    let mut looks = std::pin::pin!(looks);
    let told = tokio::select! {
        () = &mut looks => false,
        _ = terminate.recv() => true,
        _ = interrupt.recv() => true,
    };
    if told {
        info!("told to stop");
        let _ = stop.send(());
        if tokio::time::timeout(GRACE, looks).await.is_err() {
            warn!("a look at a run did not end in time; the next operator takes it up");
        }
    } else {
        error!("the controller ended by itself");
    }
    tasks.shutdown().await;
    Ok(())
}

/// A client without retries of its own, and with an ear for dead connections.
async fn client() -> Result<Client, StartError> {
    let mut config = Config::infer().await?;
    config.default_retry = false;
    config.read_timeout = Some(SILENCE);
    Ok(Client::try_from(config)?)
}

fn reporter() -> Reporter {
    Reporter { controller: NAME.to_owned(), instance: std::env::var("POD_NAME").ok() }
}

type Look = Result<
    (kube::runtime::reflector::ObjectRef<crate::identity::Guarded>, controller::Action),
    ControllerError<crate::reconcile::ReconcileError, kube::runtime::watcher::Error>,
>;

/// Failures of a look are reported where they happen; a run that is gone is no failure.
fn report(look: Look) {
    match look {
        Ok((run, action)) => debug!(%run, ?action, "looked"),
        Err(ControllerError::ObjectNotFound(_) | ControllerError::ReconcilerFailed(..)) => {}
        Err(error) => warn!(%error, "the controller has a trouble"),
    }
}
