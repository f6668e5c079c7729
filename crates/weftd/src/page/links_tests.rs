use std::collections::HashSet;
use std::net::{Ipv4Addr, SocketAddr};

use super::*;
use crate::access::User;

const HOME: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

fn alice() -> Caller {
    Caller::User(User {
        uid: 1_000,
        name: Some("alice".to_owned()),
        groups: Vec::new(),
    })
}

fn welcome(_: &Guest) -> Result<(), String> {
    Ok(())
}

fn unknown() -> Refused {
    Refused::Link(LinkError::Unknown)
}

#[test]
fn a_link_lets_in_once_with_the_identity_and_role_it_was_made_with() {
    let (links, mut now) = (Links::default(), Instant::now());
    assert!(!links.are_open(now));
    let token = links.make(&alice(), Role::Operate, now).expect("a link");
    assert_eq!(token.len(), SECRET_DIGITS);
    let (guest, cookie) = links.enter(&token, HOME, now, welcome).expect("a session");
    assert_eq!((&*guest.who, guest.at_most), (&alice(), Role::Operate));
    assert_eq!(
        links.enter(&token, HOME, now, welcome).err(),
        Some(unknown())
    );
    assert_eq!(links.guest(&cookie, HOME, now), Some(guest));
    for other in [&token, "", &cookie[1..], &"0".repeat(SECRET_DIGITS)] {
        assert_eq!(links.guest(other, HOME, now), None, "{other}");
    }
    now += SESSION_LIFE;
    assert_eq!(links.guest(&cookie, HOME, now), None, "it has ended");
    assert!(!links.are_open(now));
}

#[test]
fn a_link_ends_after_minutes_and_stays_where_it_is_not_needed() {
    let (links, mut now) = (Links::default(), Instant::now());
    let token = links.make(&alice(), Role::View, now).expect("a link");
    let needless = links.enter(&token, HOME, now, |_| Err("has a certificate".to_owned()));
    assert!(
        matches!(needless, Err(Refused::Needless(guest, why)) if *guest.who == alice() && why == "has a certificate")
    );
    now += LINK_LIFE - Duration::from_secs(1);
    assert!(links.are_open(now));
    now += Duration::from_secs(1);
    assert!(!links.are_open(now));
    assert_eq!(
        links.enter(&token, HOME, now, welcome).err(),
        Some(unknown())
    );
}

#[test]
fn wrong_tokens_are_refused_without_a_look_after_some_and_good_ones_are_not() {
    let (links, now) = (Links::default(), Instant::now());
    let token = links.make(&alice(), Role::View, now).expect("a link");
    let wrong_at = |from, now| links.enter("wrong", from, now, welcome).err();
    let wrong = |from| wrong_at(from, now);
    for _ in 0..TRIES_EACH {
        assert_eq!(wrong(HOME), Some(unknown()));
    }
    assert_eq!(wrong(HOME), Some(Refused::Link(LinkError::TooOften)));
    let other = |host: u8| IpAddr::V4(Ipv4Addr::new(198, 51, 100, host));
    let let_through = (0..=u8::MAX).filter(|host| wrong(other(*host)) == Some(unknown()));
    assert_eq!(let_through.count(), TRIES_MAX - TRIES_EACH);
    let later = now + TRIES_IN;
    assert_eq!(wrong_at(HOME, later), Some(unknown()));
    assert!(links.enter(&token, HOME, later, welcome).is_ok());
}

#[test]
fn links_and_sessions_are_bounded_for_each_and_in_all_and_can_be_ended() {
    let (links, now) = (Links::default(), Instant::now());
    let user = |uid| {
        Caller::User(User {
            uid,
            name: None,
            groups: Vec::new(),
        })
    };
    let mut cookies = HashSet::new();
    for _ in 0..SESSIONS_EACH {
        let token = links.make(&user(1), Role::View, now).expect("a link");
        let (_, cookie) = links.enter(&token, HOME, now, welcome).expect("a session");
        assert!(cookies.insert(cookie), "no secret comes twice");
    }
    let token = links.make(&user(1), Role::View, now).expect("a link");
    let full = links
        .enter(&token, HOME, now, welcome)
        .expect_err("one too many");
    assert!(
        matches!(&full, Refused::Link(error) if error.to_string().contains("16 sessions of uid:1")),
        "{full:?}"
    );
    for made in 1..LINKS_MAX {
        let who = user(2 + (made / LINKS_EACH) as u32);
        links.make(&who, Role::View, now).expect("a link");
    }
    let who = user(99);
    let error = links.make(&who, Role::View, now).expect_err("one too many");
    assert!(error.to_string().contains("64 links are open"), "{error}");
    let error = links
        .make(&user(2), Role::View, now)
        .expect_err("too many of his");
    assert!(error.to_string().contains("links"), "{error}");
    assert_eq!(links.end(Whose::Of(&user(1)), now), (1, SESSIONS_EACH));
    for cookie in &cookies {
        assert_eq!(links.guest(cookie, HOME, now), None);
    }
    assert_eq!(links.end(Whose::Everybody, now), (LINKS_MAX - 1, 0));
    assert!(!links.are_open(now));
    let nobody = Caller::Loopback(SocketAddr::from(([127, 0, 0, 1], 9)));
    assert_eq!(links.end(Whose::Of(&nobody), now), (0, 0));
}
