//! Requests as data: parses method and path.

use hyper::Method;

use super::fault::Op;
use super::object::Kind;

/// The target of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Route {
    /// `GET /health`.
    Health,
    /// `GET /ledger?after=SEQ`.
    Ledger {
        /// Only the lines with sequence numbers greater than this number.
        after: u64,
    },
    /// `GET /objects`.
    Objects,
    /// `GET /faults`.
    Faults,
    /// `PUT /faults`.
    ReplaceFaults,
    /// `GET /rates`.
    Rates,
    /// `GET /regions`.
    Regions,
    /// `GET /regions/R`.
    Region(String),
    /// Everything below `/regions/R/TYPE`.
    Object(ObjectRoute),
}

/// A request about objects of one kind in one region.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectRoute {
    /// The region.
    pub region: String,
    /// The kind.
    pub kind: Kind,
    /// The operation.
    pub op: Op,
    /// The id of the object; empty for creates and lists.
    pub id: String,
    /// List only objects with this client token.
    pub token: Option<String>,
    /// List only objects with this name.
    pub name: Option<String>,
}

/// Why a request has no target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Astray {
    /// 404.
    NoSuchPath,
    /// 405.
    NoSuchMethod,
    /// 400: the query is malformed.
    BadQuery,
}

/// Parses method, path and query.
pub fn route(method: &Method, path: &str, query: Option<&str>) -> Result<Route, Astray> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let query = parameters(query.unwrap_or_default())?;
    let value = |name: &str| query.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    let get = |route: Route| if *method == Method::GET { Ok(route) } else { Err(Astray::NoSuchMethod) };
    match parts.as_slice() {
        ["health"] => get(Route::Health),
        ["objects"] => get(Route::Objects),
        ["ledger"] => {
            let after = value("after").map_or(Ok(0), |text| text.parse()).map_err(|_| Astray::BadQuery)?;
            get(Route::Ledger { after })
        }
        ["faults"] if *method == Method::PUT => Ok(Route::ReplaceFaults),
        ["faults"] => get(Route::Faults),
        ["rates"] => get(Route::Rates),
        ["regions"] => get(Route::Regions),
        ["regions", region] => get(Route::Region((*region).to_owned())),
        ["regions", region, kind, rest @ ..] => {
            let kind = Kind::named(kind).ok_or(Astray::NoSuchPath)?;
            let (op, id) = match (method.as_str(), rest) {
                ("GET", []) => (Op::List, ""),
                ("POST", []) => (Op::Create, ""),
                ("GET", [id]) => (Op::Read, *id),
                ("PATCH", [id]) => (Op::Update, *id),
                ("DELETE", [id]) => (Op::Delete, *id),
                (_, [] | [_]) => return Err(Astray::NoSuchMethod),
                _ => return Err(Astray::NoSuchPath),
            };
            let (region, id) = ((*region).to_owned(), id.to_owned());
            Ok(Route::Object(ObjectRoute { region, kind, op, id, token: value("token"), name: value("name") }))
        }
        _ => Err(Astray::NoSuchPath),
    }
}

/// The parameters of a query, percent-decoded.
fn parameters(query: &str) -> Result<Vec<(String, String)>, Astray> {
    let pair = |text: &str| {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        Ok((decode(name)?, decode(value)?))
    };
    query.split('&').filter(|text| !text.is_empty()).map(pair).collect()
}

fn decode(text: &str) -> Result<String, Astray> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (first, tail) {
            (b'%', [high, low, after @ ..]) => {
                let digits = [char::from(*high).to_digit(16), char::from(*low).to_digit(16)];
                let [Some(high), Some(low)] = digits else { return Err(Astray::BadQuery) };
                bytes.push((high * 16 + low) as u8);
                rest = after;
            }
            (b'%', _) => return Err(Astray::BadQuery),
            (b'+', _) => bytes.push(b' '),
            (other, _) => bytes.push(*other),
        }
    }
    String::from_utf8(bytes).map_err(|_| Astray::BadQuery)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_their_routes() {
        let list = route(&Method::GET, "/regions/eu/network", Some("token=a%2Fb+c&x"));
        let Ok(Route::Object(found)) = list else { panic!("{list:?}") };
        assert_eq!((found.op, found.kind, found.token.as_deref()), (Op::List, Kind::Network, Some("a/b c")));
        assert_eq!(route(&Method::GET, "/ledger", Some("after=7")), Ok(Route::Ledger { after: 7 }));
        assert_eq!(route(&Method::GET, "/ledger", Some("after=x")), Err(Astray::BadQuery));
        assert_eq!(route(&Method::GET, "/regions/eu/disk", None), Err(Astray::NoSuchPath));
        assert_eq!(route(&Method::POST, "/regions/eu/network/n1", None), Err(Astray::NoSuchMethod));
        assert_eq!(route(&Method::GET, "/regions/eu/network/n1/x", None), Err(Astray::NoSuchPath));
        for bad in ["token=%", "token=%4", "token=%zz", "token=%ff"] {
            assert_eq!(route(&Method::GET, "/regions/eu/network", Some(bad)), Err(Astray::BadQuery), "{bad}");
        }
    }
}
