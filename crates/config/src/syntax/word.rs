//! Words with a meaning.

use super::number::{shown, u8s};
use super::{Notes, Syntax};
use crate::finding::{Problem, Rule};
use crate::value::{Mtu, Rate};

/// One of a few words.
pub(crate) struct Words<T: 'static> {
    words: &'static [(&'static str, T)],
    rule: Rule,
    blanks: bool,
    any_case: bool,
}

/// A type that a fixed set of words writes: the first word of a value is how it is printed.
pub(crate) trait Keyword: Copy + PartialEq + 'static {
    const WORDS: &'static [(&'static str, Self)];
}

/// Defines the words of a type.
macro_rules! keywords {
    ($type:ident { $($word:literal => $variant:ident),+ $(,)? }) => {
        impl $crate::syntax::Keyword for $type {
            const WORDS: &'static [(&'static str, Self)] = &[ $( ($word, $type::$variant), )+ ];
        }
    };
}

pub(crate) use keywords;

/// A word that the vendor checks as well.
pub(crate) const fn keyword<T: Keyword>() -> Words<T> {
    Words {
        words: T::WORDS,
        rule: Rule::Form,
        blanks: true,
        any_case: true,
    }
}

impl<T> Words<T> {
    /// A word that the vendor takes as it is, blanks included, and stumbles over later.
    pub(crate) const fn unchecked_by_vendor(mut self, rule: Rule) -> Self {
        self.rule = rule;
        self.blanks = false;
        self
    }

    /// A word in its own letter case, without blanks around it.
    pub(crate) const fn exact(mut self) -> Self {
        self.blanks = false;
        self.any_case = false;
        self
    }
}

impl<T: Copy + PartialEq> Syntax for Words<T> {
    type Value = T;

    fn parse(&self, text: &str, _: &mut Notes) -> Result<T, Problem> {
        let text = if self.blanks { text.trim_ascii() } else { text };
        let found = self
            .words
            .iter()
            .find(|(word, _)| text == *word || self.any_case && text.eq_ignore_ascii_case(word));
        found.map(|&(_, value)| value).ok_or_else(|| {
            Problem::new(
                self.rule,
                format!("`{}` is none of the known words", shown(text)),
            )
        })
    }

    fn print(&self, value: &T) -> String {
        // A value of the type that no word names has the first word; the tables name them all.
        let named = self
            .words
            .iter()
            .find(|(_, known)| known == value)
            .or(self.words.first());
        named
            .map(|(word, _)| (*word).to_owned())
            .unwrap_or_default()
    }

    fn allowed(&self) -> String {
        let words: Vec<_> = self.words.iter().map(|(word, _)| *word).collect();
        words.join(", ")
    }

    fn may_be_empty(&self) -> bool {
        !self.blanks
    }

    fn is_stricter(&self) -> bool {
        self.rule.is_stricter_than_vendor()
    }
}

/// A value that some words name, and a number otherwise.
pub(crate) struct OrNumber<W, N> {
    words: W,
    number: N,
}

/// The words first, then the number; printed as a word where one fits.
pub(crate) const fn or_number<T: 'static, N>(
    words: &'static [(&'static str, T)],
    number: N,
) -> OrNumber<Words<T>, N> {
    OrNumber {
        words: Words {
            words,
            rule: Rule::Form,
            blanks: true,
            any_case: true,
        },
        number,
    }
}

impl<T: Copy + PartialEq, N: Syntax<Value = T>> Syntax for OrNumber<Words<T>, N> {
    type Value = T;

    fn parse(&self, text: &str, notes: &mut Notes) -> Result<T, Problem> {
        self.words
            .parse(text, notes)
            .or_else(|_| self.number.parse(text, notes))
    }

    fn print(&self, value: &T) -> String {
        let word = self.words.words.iter().find(|(_, known)| known == value);
        word.map_or_else(|| self.number.print(value), |(word, _)| (*word).to_owned())
    }

    fn allowed(&self) -> String {
        format!("{}, or {}", self.words.allowed(), self.number.allowed())
    }
}

keywords! { Mtu {
    "2048" => B2048, "4096" => B4096, "8192" => B8192, "10240" => B10240, "Unlimited" => Unlimited,
} }

impl Keyword for Rate {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("25g", Self::G25),
        ("50g", Self::G50),
        ("75g", Self::G75),
        ("100g", Self::G100),
        ("12.5g", Self::G12_5),
        ("37.5g", Self::G37_5),
        ("Unlimited", Self::Unlimited),
        ("25", Self::G25),
        ("50", Self::G50),
        ("75", Self::G75),
        ("100", Self::G100),
        ("12.5", Self::G12_5),
        ("37.5", Self::G37_5),
    ];
}

/// A value by its code on the wire.
pub(crate) struct Code<T: 'static> {
    values: &'static [T],
    code: fn(T) -> Option<u8>,
    unlimited: T,
}

/// The MTU by its code.
pub(crate) const fn mtu_code() -> Code<Mtu> {
    Code {
        values: &[Mtu::B2048, Mtu::B4096, Mtu::B8192, Mtu::B10240],
        code: Mtu::code,
        unlimited: Mtu::Unlimited,
    }
}

/// The rate by its code.
pub(crate) const fn rate_code() -> Code<Rate> {
    const RATES: &[Rate] = &[
        Rate::G12_5,
        Rate::G25,
        Rate::G37_5,
        Rate::G50,
        Rate::G75,
        Rate::G100,
    ];
    Code {
        values: RATES,
        code: Rate::code,
        unlimited: Rate::Unlimited,
    }
}

impl<T: Copy> Syntax for Code<T> {
    type Value = T;

    fn parse(&self, text: &str, notes: &mut Notes) -> Result<T, Problem> {
        let code = u8s().parse(text, notes)?;
        if code == u8::MAX {
            return Ok(self.unlimited);
        }
        let found = self
            .values
            .iter()
            .find(|&&value| (self.code)(value) == Some(code));
        found.copied().ok_or_else(|| {
            Problem::new(
                Rule::StrictRange,
                format!("{code} is the code of nothing here"),
            )
        })
    }

    fn print(&self, value: &T) -> String {
        (self.code)(*value).unwrap_or(u8::MAX).to_string()
    }

    fn allowed(&self) -> String {
        let codes: Vec<_> = self
            .values
            .iter()
            .filter_map(|&value| (self.code)(value))
            .map(|code| code.to_string())
            .collect();
        format!("{}, or 255 for unlimited", codes.join(", "))
    }
}
