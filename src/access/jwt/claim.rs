//! What the claims of a verified JWT say of its caller. Pure.
//!
//! A claim of another shape than it must have refuses the JWT: a group that cannot be read may be the one that something is
//! denied to.

use serde_json::{Map, Value};

use crate::access::config::Config;
use crate::access::refusal::Refusal;
use crate::domain::{Principal, Subject};

/// Where the claims stand.
#[derive(Clone, Debug)]
pub struct Names {
    principal: String,
    scope: String,
    groups: String,
}

impl Names {
    /// The names of this configuration.
    pub fn new(config: &Config) -> Self {
        Self {
            principal: config.principal_claim.clone(),
            scope: config.scope_claim.clone(),
            groups: config.groups_claim.clone(),
        }
    }

    /// The caller.
    ///
    /// # Errors
    /// When the claim that names it is missing or no name, or another one cannot be read.
    pub fn subject(&self, claims: Map<String, Value>) -> Result<Subject, Refusal> {
        let claims = Value::Object(claims);
        let name = claim(&claims, &self.principal).and_then(Value::as_str).ok_or(Refusal::Claims)?;
        let principal = Principal::of_jwt(name).map_err(|_| Refusal::Claims)?;
        let scopes = texts(claim(&claims, &self.scope), Spaces::Separate)?;
        let groups = texts(claim(&claims, &self.groups), Spaces::Belong)?;
        Ok(Subject { principal, scopes: scopes.into(), groups: groups.into(), read_only: false })
    }
}

/// What a space in a text is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spaces {
    /// The end of one text and the begin of another, as in `scope`.
    Separate,
    /// A part of it, as in the name of a group.
    Belong,
}

/// The claim of that name, or where it begins with `/`, of that path: issuers nest what they add.
fn claim<'a>(claims: &'a Value, name: &str) -> Option<&'a Value> {
    if name.starts_with('/') { claims.pointer(name) } else { claims.get(name) }
}

/// A text or a list of texts. A claim that is not there has none.
fn texts(claim: Option<&Value>, spaces: Spaces) -> Result<Vec<String>, Refusal> {
    match claim {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(text)) if spaces == Spaces::Separate => {
            Ok(text.split(' ').filter(|scope| !scope.is_empty()).map(String::from).collect())
        }
        Some(Value::String(text)) => Ok(vec![text.clone()]),
        Some(Value::Array(items)) => {
            items.iter().map(|item| item.as_str().map(String::from).ok_or(Refusal::Claims)).collect()
        }
        Some(_) => Err(Refusal::Claims),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn subject(names: &Config, claims: Value) -> Result<Subject, Refusal> {
        let Value::Object(claims) = claims else { panic!("claims are an object") };
        Names::new(names).subject(claims)
    }

    #[test]
    fn the_claims_name_the_caller_its_scopes_and_its_groups() {
        let claims = json!({ "sub": "ada", "scope": "a  b", "groups": ["ops", "on call"] });
        let ada = subject(&Config::default(), claims).unwrap();
        assert_eq!(ada.principal.as_str(), "jwt:ada");
        assert_eq!(
            (&*ada.scopes, &*ada.groups),
            (&["a".into(), "b".into()][..], &["ops".into(), "on call".into()][..])
        );
        assert!(!ada.read_only);
        let none = subject(&Config::default(), json!({ "sub": "ada" })).unwrap();
        assert!(none.scopes.is_empty() && none.groups.is_empty());
        let one =
            subject(&Config::default(), json!({ "sub": "ada", "scope": ["a", "b"], "groups": "on call" }))
                .unwrap();
        assert_eq!((&*one.scopes, &*one.groups), (&["a".into(), "b".into()][..], &["on call".into()][..]));
    }

    #[test]
    fn other_names_and_paths_are_followed() {
        let config = Config {
            principal_claim: "client_id".into(),
            scope_claim: "https://a.example/scp".into(),
            groups_claim: "/realm_access/roles".into(),
            ..Config::default()
        };
        let claims = json!({
            "sub": "no", "client_id": "ci", "https://a.example/scp": "s", "realm_access": { "roles": ["r"] },
        });
        let found = subject(&config, claims).unwrap();
        assert_eq!(found.principal.as_str(), "jwt:ci");
        assert_eq!((&*found.scopes, &*found.groups), (&["s".into()][..], &["r".into()][..]));
    }

    #[test]
    fn a_claim_of_another_shape_refuses_the_token() {
        for wrong in [
            json!({}),
            json!({ "sub": 7 }),
            json!({ "sub": "" }),
            json!({ "sub": "a b" }),
            json!({ "sub": "x".repeat(256) }),
            json!({ "sub": "a", "scope": 7 }),
            json!({ "sub": "a", "scope": ["a", 7] }),
            json!({ "sub": "a", "groups": { "a": 1 } }),
            json!({ "sub": "a", "groups": [["a"]] }),
        ] {
            assert_eq!(subject(&Config::default(), wrong.clone()), Err(Refusal::Claims), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn whoever_is_named_has_a_name_that_no_static_token_has(name in ".{0,300}") {
            if let Ok(found) = subject(&Config::default(), json!({ "sub": name })) {
                prop_assert_eq!(found.principal.as_str(), format!("jwt:{name}"));
                prop_assert!(Principal::parse(found.principal.as_str()).is_err());
            }
        }
    }
}
