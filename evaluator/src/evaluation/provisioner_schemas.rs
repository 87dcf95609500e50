//! The arguments of provisioners and of their connections.

use weft_graph_format::schema::{Attribute, Block};
use weft_graph_format::types::Type;

fn text() -> Type {
    Type::String
}

fn schema(required: &[(&str, Type)], optional: &[(&str, Type)]) -> Block {
    let mut block = Block::default();
    let all = required.iter().map(|one| (one, true)).chain(optional.iter().map(|one| (one, false)));
    for ((name, ty), is_required) in all {
        let mut attribute = Attribute::new(ty.clone());
        attribute.required = is_required;
        attribute.optional = !is_required;
        block.attributes.insert((*name).into(), attribute);
    }
    block
}

/// The arguments of a provisioner; `None` if the provisioner is not built in.
pub fn provisioner_schema(kind: &str) -> Option<Block> {
    let texts = Type::list(text());
    match kind {
        "local-exec" => Some(schema(
            &[("command", text())],
            &[
                ("interpreter", texts),
                ("working_dir", text()),
                ("environment", Type::map(text())),
                ("quiet", Type::Bool),
            ],
        )),
        "remote-exec" => Some(schema(&[], &[("inline", texts.clone()), ("script", text()), ("scripts", texts)])),
        "file" => Some(schema(&[("destination", text())], &[("source", text()), ("content", text())])),
        _ => None,
    }
}

/// The arguments of a `connection` block.
pub fn connection_schema() -> Block {
    let mut optional: Vec<(&str, Type)> = [
        "type",
        "user",
        "password",
        "port",
        "timeout",
        "script_path",
        "target_platform",
        "private_key",
        "certificate",
        "host_key",
        "agent_identity",
        "proxy_scheme",
        "proxy_host",
        "proxy_port",
        "proxy_user_name",
        "proxy_user_password",
        "bastion_host",
        "bastion_host_key",
        "bastion_port",
        "bastion_user",
        "bastion_password",
        "bastion_private_key",
        "bastion_certificate",
        "cacert",
    ]
    .into_iter()
    .map(|name| (name, if name.ends_with("port") { Type::Number } else { text() }))
    .collect();
    optional.extend(["agent", "https", "insecure", "use_ntlm"].map(|name| (name, Type::Bool)));
    schema(&[("host", text())], &optional)
}
