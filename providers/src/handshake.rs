//! The line that a plugin prints when it is ready, and the environment that makes it print the line.
//!
//! The format is go-plugin's, with fields between `|`: version of the scheme, version of the application protocol,
//! network, address, wire protocol, certificate and, in newer plugins, whether connections can be multiplexed.

use std::net::SocketAddr;
use std::path::PathBuf;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// The environment variable by which a program recognizes that it was started as a provider plugin, and not directly by
/// a user.
pub const MAGIC_COOKIE: (&str, &str) =
    ("TF_PLUGIN_MAGIC_COOKIE", "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2");

/// The range of ports for plugins without unix sockets; go-plugin's own range.
pub const PORTS: (&str, &str) = ("10000", "25000");

/// The maximum length of a handshake line. A certificate of a P-521 key takes about 900 bytes.
pub const MAX_LINE: usize = 64 * 1024;

/// Plugins encode the certificate without padding. Padding is accepted too.
const CERTIFICATE_ENCODING: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The major version of the provider protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// tfplugin5.
    V5,
    /// tfplugin6.
    V6,
}

impl Protocol {
    /// The number of the protocol: 5 or 6.
    pub fn number(self) -> u8 {
        match self {
            Protocol::V5 => 5,
            Protocol::V6 => 6,
        }
    }
}

/// The address of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PluginAddress {
    /// A unix socket.
    Unix(PathBuf),
    /// A port, normally on the loopback interface.
    Tcp(SocketAddr),
}

/// A parsed handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handshake {
    /// The protocol that the plugin uses.
    pub protocol: Protocol,
    /// The address of the plugin.
    pub address: PluginAddress,
    /// The certificate that the plugin will present, as DER; `None` without TLS.
    pub certificate: Option<Vec<u8>>,
}

/// Why a line is not a usable handshake.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// The program printed something that is not a handshake.
    #[error("the program printed \"{0}\" instead of a plugin handshake, so it may not be a provider plugin")]
    NotAHandshake(String),
    /// A scheme version other than 1.
    #[error("the plugin uses version {0} of the handshake scheme; only version 1 is supported")]
    Scheme(String),
    /// A protocol version other than 5 and 6.
    #[error("the plugin uses version {0} of the provider protocol; only 5 and 6 are supported")]
    Protocol(String),
    /// A network other than unix and tcp, or an address that does not parse.
    #[error("the plugin listens at the {network} address \"{address}\", which is not supported")]
    Address {
        /// The field as received.
        network: String,
        /// The field as received.
        address: String,
    },
    /// The plugin uses the old net/rpc transport.
    #[error("the plugin uses the transport \"{0}\"; only grpc is supported")]
    Transport(String),
    /// The certificate field is not base64.
    #[error("the plugin's certificate cannot be decoded")]
    Certificate,
}

impl Handshake {
    /// Parses the first line that a plugin prints, without its newline.
    pub fn parse(line: &str) -> Result<Handshake, HandshakeError> {
        let fields: Vec<&str> = line.trim().split('|').collect();
        let [scheme, protocol, network, address, rest @ ..] = fields.as_slice() else {
            return Err(HandshakeError::NotAHandshake(shown(line)));
        };
        if scheme.is_empty() || !scheme.bytes().all(|b| b.is_ascii_digit()) {
            return Err(HandshakeError::NotAHandshake(shown(line)));
        }
        if *scheme != "1" {
            return Err(HandshakeError::Scheme(shown(scheme)));
        }
        let protocol = match *protocol {
            "5" => Protocol::V5,
            "6" => Protocol::V6,
            other => return Err(HandshakeError::Protocol(shown(other))),
        };
        let bad_address = || HandshakeError::Address { network: shown(network), address: shown(address) };
        let address = match *network {
            "unix" if !address.is_empty() => PluginAddress::Unix(PathBuf::from(address)),
            "tcp" => PluginAddress::Tcp(address.parse().map_err(|_| bad_address())?),
            _ => return Err(bad_address()),
        };
        match rest.first() {
            Some(&"grpc") => {}
            // Without this field, the transport is net/rpc.
            other => return Err(HandshakeError::Transport(shown(other.unwrap_or(&"netrpc")))),
        }
        let certificate = match rest.get(1) {
            None | Some(&"") => None,
            Some(text) => Some(CERTIFICATE_ENCODING.decode(text).map_err(|_| HandshakeError::Certificate)?),
        };
        Ok(Handshake { protocol, address, certificate })
    }
}

/// A text from a plugin, prepared for a message: shortened, and without control characters.
fn shown(text: &str) -> String {
    const LONGEST: usize = 120;
    let mut out: String = text.chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(LONGEST).is_some() {
        out.push_str("...");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_a_unix_socket_and_a_certificate_is_read() {
        let handshake = Handshake::parse("1|6|unix|/tmp/plugin1|grpc|AQI|true").unwrap();
        assert_eq!(handshake.protocol, Protocol::V6);
        assert_eq!(handshake.address, PluginAddress::Unix("/tmp/plugin1".into()));
        assert_eq!(handshake.certificate, Some(vec![1, 2]));
    }

    #[test]
    fn a_line_with_a_tcp_address_is_read() {
        let handshake = Handshake::parse("1|5|tcp|127.0.0.1:10000|grpc|\r\n").unwrap();
        assert_eq!(handshake.protocol, Protocol::V5);
        assert_eq!(handshake.address, PluginAddress::Tcp("127.0.0.1:10000".parse().unwrap()));
        assert_eq!(handshake.certificate, None);
    }

    #[test]
    fn each_field_is_checked() {
        let error = |line: &str| Handshake::parse(line).unwrap_err();
        assert!(matches!(error("hello"), HandshakeError::NotAHandshake(_)));
        assert!(matches!(error("a|b|c|d"), HandshakeError::NotAHandshake(_)));
        assert!(matches!(error("2|6|unix|/x|grpc"), HandshakeError::Scheme(_)));
        assert!(matches!(error("1|4|unix|/x|grpc"), HandshakeError::Protocol(_)));
        assert!(matches!(error("1|6|pipe|/x|grpc"), HandshakeError::Address { .. }));
        assert!(matches!(error("1|6|tcp|nowhere|grpc"), HandshakeError::Address { .. }));
        assert!(matches!(error("1|5|unix|/x"), HandshakeError::Transport(_)));
        assert!(matches!(error("1|5|unix|/x|netrpc"), HandshakeError::Transport(_)));
        assert_eq!(error("1|5|unix|/x|grpc|***"), HandshakeError::Certificate);
    }

    proptest::proptest! {
        #[test]
        fn no_line_panics(line in ".{0,200}") {
            let _ = Handshake::parse(&line);
        }
    }
}
