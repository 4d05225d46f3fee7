//! Why an operator's word was not done, and what to do.

/// Why it was not done, or that this is not known.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// The address is not one for HTTP.
    #[error("`{url}` is not an address for HTTP: write one such as http://127.0.0.1:9090")]
    Url {
        /// The address.
        url: String,
    },
    /// The connection was refused.
    #[error(
        "nothing listens on {url}: is `kubemq-mcp serve` running? keys are on `admin.listen` when that is set; name its \
         address with --url"
    )]
    NothingListens {
        /// The address.
        url: String,
    },
    /// The connector was not reached for another reason.
    #[error("{url} cannot be reached, {cause}: check the address")]
    Unreachable {
        /// The address.
        url: String,
        /// What the system said.
        cause: String,
    },
    /// The request left and no answer came.
    #[error("{url} gave no answer, {cause}: {}", if *.changes {
        "whether the key was changed is not known, look at it with `key show` before you go on"
    } else {
        "try again"
    })]
    Lost {
        /// The address.
        url: String,
        /// What came instead.
        cause: String,
        /// Whether the request was to change a key.
        changes: bool,
    },
    /// A token is needed.
    #[error(
        "{url} asks for the operators' token: give the file that has it (`admin.token_file`) with --token-file"
    )]
    TokenNeeded {
        /// The address.
        url: String,
    },
    /// Another token is needed.
    #[error("{url} does not know the token of --token-file: give the one that is in its `admin.token_file`")]
    TokenWrong {
        /// The address.
        url: String,
    },
    /// The connector does not let us in.
    #[error(
        "{url} does not let you in ({message}): run this on the connector's own machine, with --url \
         http://127.0.0.1:PORT, or set `admin.token_file` there and give its token with --token-file"
    )]
    Forbidden {
        /// The address.
        url: String,
        /// What it said.
        message: String,
    },
    /// There are no keys at this address.
    #[error(
        "{url} serves no keys: name the address of `admin.listen`, or of `server.listen` when that is empty, with --url \
         and without a path"
    )]
    NoKeys {
        /// The address.
        url: String,
    },
    /// There is no such key.
    #[error(
        "{principal} has no such key: it was never used, or has expired; `key list` shows them, and --principal says \
         whose it is"
    )]
    Absent {
        /// Whose it would be.
        principal: String,
    },
    /// To forget what is in doubt needs consent.
    #[error(
        "this key is in doubt, so its command may have run, and forgotten it may run again: say --may-run-again if it \
         may, or settle it with `key resolve`"
    )]
    NeedsConsent,
    /// The connector refused for another reason.
    #[error("{message}")]
    Refused {
        /// What it said.
        message: String,
    },
    /// What answers is no connector.
    #[error("{url} does not answer as a connector does (status {status}): check the address")]
    Foreign {
        /// The address.
        url: String,
        /// The status of its answer.
        status: u16,
    },
    /// Nobody knows who says so.
    #[error("this machine has no name for you: say who you are with --by")]
    Nameless,
}
