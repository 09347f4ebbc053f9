//! What Pod Security `restricted` asks for, where nothing else was asked for.

use k8s_openapi::api::core::v1::{Capabilities, Container, PodSecurityContext, PodSpec, SeccompProfile};

/// Completes a pod's security context. Nobody's user is fixed here: some platforms choose it.
pub(super) fn restrict_pod(spec: &mut PodSpec) {
    let PodSecurityContext { run_as_non_root, seccomp_profile, .. } = spec.security_context.get_or_insert_default();
    run_as_non_root.get_or_insert(true);
    seccomp_profile
        .get_or_insert_with(|| SeccompProfile { type_: "RuntimeDefault".to_owned(), localhost_profile: None });
}

/// Completes a container's security context.
pub(super) fn restrict_container(container: &mut Container) {
    let security = container.security_context.get_or_insert_default();
    let capabilities = security.capabilities.get_or_insert_default();
    let powerful = security.privileged == Some(true) || adds_administration(capabilities);
    // The API server refuses a privileged container that may not escalate.
    if !powerful {
        security.allow_privilege_escalation.get_or_insert(false);
    }
    capabilities.drop.get_or_insert_with(|| vec!["ALL".to_owned()]);
}

fn adds_administration(capabilities: &Capabilities) -> bool {
    capabilities.add.iter().flatten().any(|name| matches!(name.as_str(), "SYS_ADMIN" | "CAP_SYS_ADMIN"))
}
