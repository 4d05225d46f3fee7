//! The options of who calls: `[auth]`.

use super::Section;
use crate::config::rule::auth;
use crate::config::setting::Setting;

pub static AUTH: Section = Section {
    name: "auth",
    about: "Who calls over HTTP, told by a bearer token.",
    settings: &[
        Setting::text(
            "auth.mode",
            "none",
            auth::MODE,
            "What callers show: `tokens` are those of `auth.tokens_file`, `jwt` are signed by `auth.issuer`, with `none` everybody is `anonymous`.",
        ),
        Setting::boolean(
            "auth.token_required",
            true,
            "Whether a call without a token is refused; otherwise it is one of `anonymous`. With the mode `none` there is nothing to require.",
        ),
        Setting::list(
            "auth.scopes_required",
            &[],
            auth::SCOPE,
            0,
            "Scopes that every token must have; one without is refused with 403 and the list. It needs `auth.token_required`.",
        ),
        Setting::file(
            "auth.tokens_file",
            "The file that names the callers, one `NAME sha256:HASH` on each line, as `kubemq-mcp token new` writes them. It is read again when it changes. Only with the mode `tokens`.",
        ),
        Setting::file(
            "auth.jwks_file",
            "The file with the public keys of the issuer, a JWKS. It is read again when it changes. The mode `jwt` needs this or `auth.jwks_url`.",
        ),
        Setting::text(
            "auth.jwks_url",
            "",
            auth::JWKS_URL,
            "Where the issuer publishes its keys, a JWKS. A start without an answer fails; later the old keys stay.",
        ),
        Setting::integer(
            "auth.jwks_refresh_seconds",
            300,
            10..=86_400,
            "Time between two reads of `auth.jwks_url`. A token that is signed with an unknown key brings one at once, at most every ten seconds.",
        ),
        Setting::text(
            "auth.issuer",
            "",
            auth::CLAIM_VALUE,
            "Who issues the tokens: `iss`, letter for letter. The mode `jwt` needs it.",
        ),
        Setting::text(
            "auth.audience",
            "",
            auth::CLAIM_VALUE,
            "Whom the tokens are for: `aud`, or one of its items. Empty: `auth.resource`. The mode `jwt` needs one of the two.",
        ),
        Setting::list(
            "auth.algorithms",
            &["RS256", "PS256", "ES256", "ES384", "EdDSA"],
            auth::ALGORITHM,
            1,
            "How a token may be signed. Only with key pairs: `none` and shared secrets cannot be allowed.",
        ),
        Setting::integer(
            "auth.leeway_seconds",
            30,
            0..=300,
            "How far the clock of the issuer and ours may be apart when `exp` and `nbf` are looked at.",
        ),
        Setting::text(
            "auth.principal_claim",
            "sub",
            auth::CLAIM,
            "The claim that names the caller, which is called `jwt:NAME` from then on. It must be one that callers cannot choose. A name that begins with `/` is a path, such as `/act/sub`.",
        ),
        Setting::text(
            "auth.scope_claim",
            "scope",
            auth::CLAIM,
            "The claim with the scopes of a token: a text with spaces between them, or a list.",
        ),
        Setting::text(
            "auth.groups_claim",
            "groups",
            auth::CLAIM,
            "The claim with the groups of a caller, a list; `/realm_access/roles` is the path of a nested one.",
        ),
        Setting::text(
            "auth.resource",
            "",
            auth::RESOURCE,
            "The URL that agents know this endpoint by, such as `https://mcp.example/mcp`. It is published with where to get a token (RFC 9728). Empty: nothing is.",
        ),
        Setting::list(
            "auth.authorization_servers",
            &[],
            auth::SERVER,
            0,
            "Where agents get a token, told beside `auth.resource`. Empty: `auth.issuer`.",
        ),
    ],
};
