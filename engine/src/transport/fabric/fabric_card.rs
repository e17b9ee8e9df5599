//! What a rank tells a peer over the wire, so that they can go on over a fabric: its card.
//!
//! ```text
//! 0      version
//! 1      length of the provider's name; 0: the rank has no fabric
//! 2..6   the provider's protocol
//! 6..10  its version
//! 10..18 the seal: every message of the peer to this rank begins with it
//! 18..   the name, then the address
//! ```

use super::endpoint::ADDRESS_BYTES;

const VERSION: u8 = 1;
const HEAD_BYTES: usize = 18;

/// A provider, as two ranks have to have the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protocol {
    /// The provider's name.
    pub provider: String,
    /// `fi_ep_attr.protocol`, and its version.
    pub numbers: [u32; 2],
}

/// A card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FabricCard {
    /// What the rank speaks.
    pub protocol: Protocol,
    /// What the peer shall begin its messages with.
    pub seal: u64,
    /// Where the rank is, as its provider writes it.
    pub address: Vec<u8>,
}

/// The card of a rank without a fabric.
pub fn none() -> Vec<u8> {
    write(None)
}

fn write(card: Option<&FabricCard>) -> Vec<u8> {
    let mut bytes = vec![0; HEAD_BYTES];
    bytes[0] = VERSION;
    if let Some(FabricCard { protocol, seal, address }) = card {
        bytes[1] = protocol.provider.len() as u8;
        bytes[2..6].copy_from_slice(&protocol.numbers[0].to_le_bytes());
        bytes[6..10].copy_from_slice(&protocol.numbers[1].to_le_bytes());
        bytes[10..].copy_from_slice(&seal.to_le_bytes());
        bytes.extend(protocol.provider.as_bytes());
        bytes.extend(address);
    }
    bytes
}

impl FabricCard {
    /// As it travels.
    pub fn to_bytes(&self) -> Vec<u8> {
        write(Some(self))
    }

    /// As it has come; `None` for that of a rank without a fabric, for one of another version, and for what is no card.
    pub fn from_bytes(bytes: &[u8]) -> Option<FabricCard> {
        let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let number = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("four bytes"));
        if head[0] != VERSION || head[1] == 0 {
            return None;
        }
        let (provider, address) = rest.split_at_checked(usize::from(head[1]))?;
        let provider = String::from_utf8(provider.to_vec()).ok()?;
        let seal = u64::from_le_bytes(head[10..].try_into().expect("eight bytes"));
        let protocol = Protocol { provider, numbers: [number(2), number(6)] };
        (address.len() <= ADDRESS_BYTES).then(|| FabricCard { protocol, seal, address: address.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_travels_whole_and_nonsense_is_none() {
        let protocol = Protocol { provider: "verbs;ofi_rxm".to_owned(), numbers: [u32::MAX, 3] };
        let card = FabricCard { protocol, seal: u64::MAX - 5, address: vec![7; 32] };
        let bytes = card.to_bytes();
        assert_eq!(FabricCard::from_bytes(&bytes), Some(card));
        assert_eq!(FabricCard::from_bytes(&none()), None);
        let too_far = [&bytes[..], &[0; ADDRESS_BYTES]].concat();
        for nonsense in [&[][..], &bytes[..10], &bytes[..20], &[&[2], &bytes[1..]].concat(), &too_far] {
            assert_eq!(FabricCard::from_bytes(nonsense), None);
        }
    }
}
