//! What the policy says to one call: allowed within bounds, or denied for a reason.

/// A call that may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// What decides.
    pub basis: Basis,
    /// What the call has to keep within.
    pub bounds: Bounds,
}

/// A call that may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Denied {
    /// Why.
    pub reason: Reason,
    /// What decides.
    pub basis: Basis,
}

/// What decides about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// There are no entries.
    NoPolicy,
    /// An entry, by its place in the list.
    Entry(usize),
    /// That no entry allows it.
    NoEntry,
    /// `server.read_only`.
    Service,
    /// The caller's token.
    Credential,
}

/// Why a call is denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// An entry denies it.
    Denied,
    /// No entry allows it.
    NotAllowed,
    /// The connector serves queries only.
    ReadOnlyService,
    /// The caller's token is for queries only.
    ReadOnlyCredential,
    /// An entry gives the caller queries only.
    ReadOnlyCaller,
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Denied,
        Self::NotAllowed,
        Self::ReadOnlyService,
        Self::ReadOnlyCredential,
        Self::ReadOnlyCaller,
    ];

    /// The word in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::NotAllowed => "not_allowed",
            Self::ReadOnlyService => "read_only_service",
            Self::ReadOnlyCredential => "read_only_credential",
            Self::ReadOnlyCaller => "read_only_caller",
        }
    }

    /// The clause that tells a caller why, without what the policy says of others.
    pub fn clause(self) -> &'static str {
        match self {
            Self::Denied | Self::NotAllowed => "the policy of this connector does not allow it",
            Self::ReadOnlyService => "this connector is read-only, it serves queries only",
            Self::ReadOnlyCredential => "the token of this call is read-only, it is for queries only",
            Self::ReadOnlyCaller => "the policy of this connector allows this caller queries only",
        }
    }
}

/// What a call that is allowed has to keep within. `None`: no narrower than everybody's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Longest timeout, in seconds.
    pub timeout_seconds_max: Option<u64>,
    /// Largest body, in bytes.
    pub body_bytes_max: Option<usize>,
    /// Whether a command needs a key.
    pub require_key: bool,
}

impl Bounds {
    /// The narrower of two, each bound for itself.
    #[must_use]
    pub fn narrowed(self, other: Self) -> Self {
        Self {
            timeout_seconds_max: narrower(self.timeout_seconds_max, other.timeout_seconds_max),
            body_bytes_max: narrower(self.body_bytes_max, other.body_bytes_max),
            require_key: self.require_key || other.require_key,
        }
    }
}

fn narrower<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
