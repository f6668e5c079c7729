use std::collections::HashSet;
use std::net::{Ipv4Addr, SocketAddr};

use super::*;
use crate::access::{Holder, User};
use crate::event_hub::unix_time_ns;

const HOME: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

fn alice() -> Caller {
    Caller::User(User {
        uid: 1_000,
        name: Some("alice".to_owned()),
        groups: Vec::new(),
    })
}

/// Somebody whose certificate ends after so many seconds.
fn ci(left: u64) -> Caller {
    Caller::Holder(Holder {
        address: SocketAddr::from((HOME, 9)),
        names: vec!["cn:ci".to_owned()],
        ends: unix_time_ns() / 1_000_000_000 + left,
    })
}

fn guest_of(links: &Links, cookie: &str, from: IpAddr, now: Instant) -> Option<Guest> {
    let session = links.session(cookie, from, now);
    session.map(|(guest, _)| guest)
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
    let token = links
        .make(&alice(), Role::Operate, now)
        .expect("a link")
        .token;
    assert_eq!(token.len(), SECRET_DIGITS);
    let entered = links
        .enter(&token, None, HOME, now, welcome)
        .expect("a session");
    let (guest, cookie) = (entered.guest, entered.cookie);
    assert_eq!(entered.life, SESSION_LIFE);
    assert_eq!((&*guest.who, guest.at_most), (&alice(), Role::Operate));
    assert_eq!(
        links.enter(&token, None, HOME, now, welcome).err(),
        Some(unknown())
    );
    assert_eq!(guest_of(&links, &cookie, HOME, now), Some(guest));
    for other in [&token, "", &cookie[1..], &"0".repeat(SECRET_DIGITS)] {
        assert_eq!(guest_of(&links, other, HOME, now), None, "{other}");
    }
    now += SESSION_LIFE;
    assert_eq!(guest_of(&links, &cookie, HOME, now), None, "it has ended");
    assert!(!links.are_open(now));
}

#[test]
fn a_link_ends_after_minutes_and_stays_where_it_is_not_needed() {
    let (links, mut now) = (Links::default(), Instant::now());
    let token = links.make(&alice(), Role::View, now).expect("a link").token;
    let needless = links.enter(&token, None, HOME, now, |_| {
        Err("has a certificate".to_owned())
    });
    assert!(
        matches!(needless, Err(Refused::Unused(guest, why)) if *guest.who == alice() && why == "has a certificate")
    );
    now += LINK_LIFE - Duration::from_secs(1);
    assert!(links.are_open(now));
    now += Duration::from_secs(1);
    assert!(!links.are_open(now));
    assert_eq!(
        links.enter(&token, None, HOME, now, welcome).err(),
        Some(unknown())
    );
}

#[test]
fn wrong_tokens_are_refused_without_a_look_after_some_and_good_ones_are_not() {
    let (links, now) = (Links::default(), Instant::now());
    let token = links.make(&alice(), Role::View, now).expect("a link").token;
    let wrong_at = |from, now| links.enter("wrong", None, from, now, welcome).err();
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
    assert!(links.enter(&token, None, HOME, later, welcome).is_ok());
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
        let token = links.make(&user(1), Role::View, now).expect("a link").token;
        let entered = links
            .enter(&token, None, HOME, now, welcome)
            .expect("a session");
        assert!(cookies.insert(entered.cookie), "no secret comes twice");
    }
    let token = links.make(&user(1), Role::View, now).expect("a link").token;
    let full = links
        .enter(&token, None, HOME, now, welcome)
        .expect_err("one too many");
    assert!(
        matches!(&full, Refused::Link(error) if error.to_string().contains("16 sessions of uid:1")),
        "{full:?}"
    );
    // Another session of the same browser takes the place of that before.
    let before = cookies.iter().next().expect("a cookie").clone();
    let again = links.enter(&token, Some(&before), HOME, now, welcome);
    cookies.insert(again.expect("a session").cookie);
    assert_eq!(guest_of(&links, &before, HOME, now), None);
    links.make(&user(1), Role::View, now).expect("a link");
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
        assert_eq!(guest_of(&links, cookie, HOME, now), None);
    }
    assert_eq!(links.end(Whose::Everybody, now), (LINKS_MAX - 1, 0));
    assert!(!links.are_open(now));
    let nobody = Caller::Loopback(SocketAddr::from(([127, 0, 0, 1], 9)));
    assert_eq!(links.end(Whose::Of(&nobody), now), (0, 0));
}

#[test]
fn links_and_sessions_of_a_certificate_last_no_longer_than_it() {
    let (links, now) = (Links::default(), Instant::now());
    let long = links.make(&ci(u64::from(u32::MAX)), Role::View, now);
    let long = long.expect("a link");
    assert_eq!((long.life, long.session), (LINK_LIFE, SESSION_LIFE));
    let hour = Duration::from_secs(3_600);
    let made = links.make(&ci(3_600), Role::View, now).expect("a link");
    assert_eq!(made.life, LINK_LIFE);
    assert!(made.session <= hour, "{:?}", made.session);
    let entered = links.enter(&made.token, None, HOME, now, welcome);
    let entered = entered.expect("a session");
    assert!(entered.life <= hour, "{:?}", entered.life);
    let cookie = &entered.cookie;
    let shortly = now + hour - Duration::from_secs(10);
    assert!(guest_of(&links, cookie, HOME, shortly).is_some());
    assert_eq!(guest_of(&links, cookie, HOME, now + hour), None);
    let made = links.make(&ci(60), Role::View, now).expect("a link");
    assert!(made.life <= Duration::from_secs(60), "{:?}", made.life);
    let error = links.make(&ci(0), Role::View, now).expect_err("no link");
    assert_eq!(error, LinkError::Expired);
}

#[test]
fn what_came_by_certificates_ends_apart_from_what_did_not() {
    let (links, now) = (Links::default(), Instant::now());
    let enter = |who: &Caller| {
        let made = links.make(who, Role::View, now).expect("a link");
        let entered = links.enter(&made.token, None, HOME, now, welcome);
        entered.expect("a session").cookie
    };
    let (of_ci, of_alice) = (enter(&ci(3_600)), enter(&alice()));
    links.make(&ci(3_600), Role::View, now).expect("a link");
    assert_eq!(links.end(Whose::OfHolders, now), (1, 1));
    assert_eq!(guest_of(&links, &of_ci, HOME, now), None);
    assert!(guest_of(&links, &of_alice, HOME, now).is_some());
}
