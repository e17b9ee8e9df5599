//! Which of the providers that libfabric offers is used.

use super::libfabric::Libfabric;
use super::structures::*;
use crate::{Class, Error, Result};
use std::ffi::{c_char, CStr, CString};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

/// Providers that are used, best first, and whether they have hardware of their own.
const PROVIDERS: [(&str, bool); 10] = [
    ("cxi", true),
    ("opx", true),
    ("psm2", true),
    ("psm3", true),
    ("efa", true),
    ("verbs;ofi_rxm", true),
    ("ucx", true),
    ("mlx", true),
    ("tcp", false),
    ("net", false),
];

/// Where Linux shows hardware for which there are providers.
const HARDWARE: [&str; 2] = ["/sys/class/infiniband", "/sys/class/cxi"];

/// What is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// One with hardware of its own.
    Fast,
    /// The best that there is.
    Best,
    /// This one.
    Named(&'static str),
}

impl Wanted {
    /// A provider by its name, or what stands in it before a semicolon.
    pub fn named(name: &str) -> Option<Wanted> {
        let is_it = |known: &str| known == name || known.split(';').next() == Some(name);
        PROVIDERS.into_iter().find(|(known, _)| is_it(known)).map(|(known, _)| Wanted::Named(known))
    }

    /// The place of a provider among those that will do; the lowest is the best.
    fn rank(self, provider: &str) -> Option<usize> {
        let will_do = |&(name, is_fast): &(&str, bool)| {
            name == provider
                && match self {
                    Wanted::Fast => is_fast,
                    Wanted::Best => true,
                    Wanted::Named(wanted) => wanted == name,
                }
        };
        PROVIDERS.iter().position(will_do)
    }
}

/// Whether the node has hardware for which libfabric may have a provider. No library is loaded for that.
pub fn is_there_hardware() -> bool {
    hardware().next().is_some()
}

/// The names of such hardware, as Linux shows them.
pub fn hardware() -> impl Iterator<Item = String> {
    let entries = HARDWARE.into_iter().filter_map(|folder| Path::new(folder).read_dir().ok()).flatten();
    entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned())
}

/// The provider with hardware of its own that is used here.
///
/// # Errors
/// `Other` when libfabric is not there, or has none for this hardware.
pub fn for_hardware() -> Result<String> {
    Ok(Offer::choose(Libfabric::load()?, Wanted::Fast, &[], 0)?.provider())
}

/// An offer of libfabric's: a provider, a device and how they can be used.
#[derive(Debug)]
pub struct Offer {
    library: &'static Libfabric,
    info: *mut Info,
}

// SAFETY: the library's structure is ours alone, and nobody changes it.
unsafe impl Send for Offer {}
// SAFETY: as above.
unsafe impl Sync for Offer {}

impl Drop for Offer {
    fn drop(&mut self) {
        // SAFETY: it was made by the library, for us.
        unsafe { (self.library.free)(self.info) };
    }
}

impl Offer {
    /// The best offer for what is wanted. A provider over IP has to use an address of the node, the first of these that it
    /// can; devices of others are shared out among the ranks of the node.
    ///
    /// # Errors
    /// `Other` when nothing will do.
    pub fn choose(
        library: &'static Libfabric,
        wanted: Wanted,
        addresses: &[IpAddr],
        local_rank: u32,
    ) -> Result<Offer> {
        let list = list(library, wanted)?;
        let existing = |info: *mut Info| (!info.is_null()).then_some(info);
        let infos = std::iter::successors(existing(list.info), |&info| {
            // SAFETY: the library's list, which lives until the end of this function.
            existing(unsafe { (*info).next })
        });
        let infos: Vec<*mut Info> = infos.collect();
        // SAFETY: as above.
        let rank_of = |&info: &*mut Info| rank(unsafe { &*info }, wanted, addresses);
        let best = infos.iter().filter_map(rank_of).min().ok_or_else(|| nothing(wanted))?;
        let equal: Vec<_> = infos.iter().filter(|info| rank_of(info) == Some(best)).collect();
        let chosen = equal[local_rank as usize % equal.len()];
        // SAFETY: it is one of the list.
        let info = unsafe { (library.copy)(*chosen) };
        Ok(Offer { library, info })
    }

    /// For calls of the library's.
    pub fn raw(&self) -> *mut Info {
        self.info
    }

    /// What it says.
    pub fn info(&self) -> &Info {
        // SAFETY: it lives as long as this.
        unsafe { &*self.info }
    }

    /// The provider's name.
    pub fn provider(&self) -> String {
        provider_of(self.info())
    }
}

/// All offers for what is wanted, as the library lists them.
fn list(library: &'static Libfabric, wanted: Wanted) -> Result<Offer> {
    // SAFETY: null makes an empty one.
    let hints = Offer { library, info: unsafe { (library.copy)(std::ptr::null()) } };
    if hints.info.is_null() {
        return Err(Error::new(Class::NoMem, "libfabric has no memory for fi_info"));
    }
    // SAFETY: the library has just made it, with all its parts, for us.
    let (info, send, receive, endpoint, domain, fabric) = unsafe {
        let info = &mut *hints.info;
        (
            &mut *hints.info,
            &mut *info.send,
            &mut *info.receive,
            &mut *info.endpoint,
            &mut *info.domain,
            &mut *info.fabric,
        )
    };
    info.capabilities = MESSAGES | REMOTE_MEMORY | MANY_MESSAGES;
    info.mode = CONTEXT | CONTEXT2;
    send.message_order = SEND_AFTER_SEND;
    receive.message_order = SEND_AFTER_SEND;
    endpoint.kind = RELIABLE_DATAGRAMS;
    domain.threading = THREAD_SAFE;
    domain.memory_mode =
        MEMORY_LOCAL | MEMORY_VIRTUAL | MEMORY_ALLOCATED | MEMORY_PROVIDERS_KEY | MEMORY_OF_ENDPOINT;
    if let Wanted::Named(name) = wanted {
        let name = CString::new(name).expect("a name of ours");
        // SAFETY: a string; the library frees it with the structure, by `free`.
        fabric.provider = unsafe { libc::strdup(name.as_ptr()) };
    }
    let mut list = std::ptr::null_mut();
    let null: *const c_char = std::ptr::null();
    // SAFETY: the hints are whole, and `list` is a place for the answer.
    let answer = unsafe { (library.offers)(library.interface(), null, null, 0, hints.info, &raw mut list) };
    if answer != 0 || list.is_null() {
        return Err(nothing(wanted));
    }
    Ok(Offer { library, info: list })
}

/// How good an offer is, if it will do: by its provider, and by the address that it uses.
fn rank(info: &Info, wanted: Wanted, addresses: &[IpAddr]) -> Option<(usize, usize)> {
    let provider = wanted.rank(&provider_of(info))?;
    if !matches!(info.address_format, ADDRESS_IPV4 | ADDRESS_IPV6) {
        return Some((provider, 0));
    }
    let own = address_of(info)?;
    Some((provider, addresses.iter().position(|&address| address == own)?))
}

fn provider_of(info: &Info) -> String {
    // SAFETY: an offer of the library's has the name of its provider.
    unsafe { CStr::from_ptr((*info.fabric).provider) }.to_string_lossy().into_owned()
}

/// The address that an offer over IP uses.
fn address_of(info: &Info) -> Option<IpAddr> {
    let has = |bytes: usize| !info.source.is_null() && info.source_length >= bytes;
    match info.address_format {
        ADDRESS_IPV4 if has(size_of::<libc::sockaddr_in>()) => {
            // SAFETY: by its format and length.
            let address = unsafe { info.source.cast::<libc::sockaddr_in>().read_unaligned() };
            Some(Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr)).into())
        }
        ADDRESS_IPV6 if has(size_of::<libc::sockaddr_in6>()) => {
            // SAFETY: by its format and length.
            let address = unsafe { info.source.cast::<libc::sockaddr_in6>().read_unaligned() };
            Some(Ipv6Addr::from(address.sin6_addr.s6_addr).into())
        }
        _ => None,
    }
}

#[cold]
fn nothing(wanted: Wanted) -> Error {
    let what = match wanted {
        Wanted::Named(name) => format!("provider {name}"),
        Wanted::Fast => "provider with hardware of its own".to_owned(),
        Wanted::Best => format!("provider that is used ({})", PROVIDERS.map(|(name, _)| name).join(", ")),
    };
    let message = format!(
        "libfabric offers no {what} with reliable messages in order and remote reading, at an address of this node; \
         `fi_info` lists what it has, and SERRIED_TRANSPORT=wire does without it"
    );
    Error::new(Class::Other, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn providers_have_an_order_and_some_will_not_do() {
        assert!(Wanted::Best.rank("cxi") < Wanted::Best.rank("tcp"));
        assert_eq!((Wanted::Fast.rank("tcp"), Wanted::Best.rank("tcp;ofi_rxm")), (None, None));
        let verbs = Wanted::named("verbs").unwrap();
        assert_eq!(verbs, Wanted::Named("verbs;ofi_rxm"));
        assert!(verbs.rank("verbs;ofi_rxm").is_some() && verbs.rank("cxi").is_none());
        assert_eq!(Wanted::named("shm"), None);
    }
}
