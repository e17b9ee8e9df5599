//! Patterns for labels and file names: `%r` is the rank, `%h` the host, `%n`
//! the number of ranks, `%%` a percent sign (Hydra's `%g` and `%p`, process
//! group and proxy, are 0 here).

/// The pattern with rank and host put in.
pub fn expand(pattern: &str, rank: u32, ranks: u32, host: &str) -> String {
    let mut text = String::with_capacity(pattern.len() + 8);
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            text.push(letter);
            continue;
        }
        match letters.next() {
            Some('r') => text.push_str(&rank.to_string()),
            Some('n') => text.push_str(&ranks.to_string()),
            Some('h') => text.push_str(host),
            Some('g' | 'p') => text.push('0'),
            Some('%') | None => text.push('%'),
            Some(other) => text.extend(['%', other]),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::expand;

    #[test]
    fn patterns_name_rank_and_host() {
        assert_eq!(expand("o.%r-%n.%h%%", 3, 8, "vm"), "o.3-8.vm%");
        assert_eq!(expand("%z%", 0, 1, ""), "%z%");
    }
}
