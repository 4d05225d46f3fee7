//! The options of who calls: `[access]`.

use super::Section;
use crate::config::setting::Setting;

pub static ACCESS: Section = Section {
    name: "access",
    about: "Who calls over HTTP, told by a bearer token.",
    settings: &[
        Setting::file(
            "access.tokens_file",
            "The file that names the callers, one `NAME sha256:HASH` on each line, as `kubemq-mcp token new` writes them. It is read again when it changes. Empty: there are no tokens, and everybody is `anonymous`.",
        ),
        Setting::boolean(
            "access.token_required",
            false,
            "Whether a call over HTTP without a token is refused; otherwise it is one of `anonymous`. It needs `access.tokens_file`.",
        ),
    ],
};
