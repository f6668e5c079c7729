//! Verdicts without a fabric: the test says what it can do without.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use weft_config::link_rules::Action;
use weft_fabric::{Guid, PortNum};

use super::*;
use crate::link_errors::ErrorRule;

fn rules() -> LinkRules {
    let mut rules = LinkRules::default();
    rules.symbol_errors.action = Action::Quarantine;
    rules.discards.action = Action::DryRun;
    rules
}

fn at(seconds: u64) -> Tick {
    Tick((1_700_000_000 + seconds) * 1_000_000_000)
}

fn excess(link: u64, rule: ErrorRule) -> LinkExcess {
    LinkExcess {
        port: (Guid(2 * link + 1), PortNum(1)),
        far: (Guid(2 * link), PortNum(2)),
        rule,
        window: Duration::from_secs(720),
        measured: 900,
        limit: 742,
        bits: 1 << 40,
        is_over: true,
    }
}

fn symbols(link: u64) -> LinkExcess {
    excess(link, ErrorRule::SymbolErrors)
}

fn fits(_: &Isolation, _: &LinkExcess) -> Fit {
    Fit::Fits
}

fn out(isolation: &Isolation) -> Vec<u64> {
    let out = isolation.out();
    out.map(|one| one.excess.far.0.0 / 2).collect()
}

/// The verdicts since the last call.
fn verdicts(isolation: &mut Isolation) -> Vec<Standing> {
    let news = std::mem::take(&mut isolation.news).into_iter();
    let verdict = |news| match news {
        News::Verdict { standing, .. } => Some(standing),
        News::Over { .. } => None,
    };
    news.filter_map(verdict).collect()
}

#[test]
fn a_link_is_out_of_use_for_twice_as_long_each_time() {
    let (mut isolation, rules) = (Isolation::default(), rules());
    let (mut now, mut holds) = (0, Vec::new());
    for _ in 0..7 {
        isolation.judge(at(now), &[symbols(1)], &rules, fits);
        let until = isolation.deadline().unwrap();
        holds.push(until.since(at(now)).as_secs() / 3600);
        // Nothing is judged meanwhile, and nothing before a whole window has passed since.
        isolation.judge(at(now + 10), &[symbols(1)], &rules, fits);
        assert!(!isolation.release(until - Duration::from_secs(1)));
        assert!(isolation.release(until));
        now += until.since(at(now)).as_secs();
        isolation.judge(at(now + 719), &[symbols(1)], &rules, fits);
        assert_eq!(out(&isolation), [], "too soon");
        now += 720;
    }
    assert_eq!(holds, [1, 2, 4, 8, 16, 24, 24]);
    // In use for as long as the longest hold: it begins anew.
    now += 24 * 3600;
    isolation.judge(at(now), &[symbols(1)], &rules, fits);
    assert_eq!(isolation.deadline(), Some(at(now + 3600)));
}

#[test]
fn the_shorter_window_counts_where_the_longer_one_still_has_what_was_before() {
    let (mut isolation, rules) = (Isolation::default(), rules());
    let long = LinkExcess {
        window: Duration::from_secs(7500),
        ..symbols(1)
    };
    isolation.judge(at(0), &[long, symbols(1)], &rules, fits);
    assert_eq!(verdicts(&mut isolation), [Standing::Isolated]);
    assert!(isolation.release(at(3600)));
    isolation.judge(at(4320), &[long], &rules, fits);
    assert_eq!(out(&isolation), []);
    isolation.judge(at(4320), &[long, symbols(1)], &rules, fits);
    assert_eq!(out(&isolation), [1]);
}

#[test]
fn a_release_by_hand_forgives_what_was() {
    let (mut isolation, rules) = (Isolation::default(), rules());
    isolation.judge(at(0), &[symbols(1), symbols(2)], &rules, fits);
    assert!(isolation.forgive(at(100), symbols(1).far));
    assert!(!isolation.forgive(at(100), symbols(1).port));
    assert_eq!(out(&isolation), [2]);
    isolation.judge(at(900), &[symbols(1)], &rules, fits);
    assert_eq!(out(&isolation), [1, 2]);
    let again = isolation.out_at(symbols(1).port).unwrap();
    assert_eq!((again.offences, again.until), (1, Some(at(900 + 3600))));
}

#[test]
fn a_rule_that_only_tells_tells_once_and_says_when_it_is_over() {
    let (mut isolation, rules) = (Isolation::default(), rules());
    let told = excess(1, ErrorRule::Discards);
    for second in [0, 10, 20] {
        isolation.judge(at(second), &[told], &rules, fits);
    }
    let lingers = LinkExcess {
        is_over: false,
        ..told
    };
    isolation.judge(at(30), &[lingers], &rules, fits);
    assert_eq!(verdicts(&mut isolation), [Standing::DryRun]);
    assert_eq!(out(&isolation), []);
    isolation.judge(at(40), &[], &rules, fits);
    let [News::Over { was_out, why, .. }] = isolation.news[..] else {
        panic!("{:?}", isolation.news)
    };
    assert_eq!((was_out, why), (false, OverReason::Below));
}

#[test]
fn what_the_bounds_keep_in_use_is_told_once_and_taken_when_they_allow_it() {
    let (mut isolation, mut rules) = (Isolation::default(), rules());
    rules.bounds.most_per_hour = 2;
    let all: Vec<LinkExcess> = (0..4).map(symbols).collect();
    let per_hour = Standing::Spared(Spared::PerHour { most: 2 });
    isolation.judge(at(0), &all, &rules, fits);
    isolation.judge(at(3599), &all, &rules, fits);
    assert_eq!(
        verdicts(&mut isolation),
        [Standing::Isolated, Standing::Isolated, per_hour, per_hour]
    );
    isolation.judge(at(3600), &all, &rules, fits);
    assert_eq!(out(&isolation), [0, 1, 2, 3]);

    rules.bounds.most_at_once = 4;
    isolation.judge(at(7200), &[symbols(7)], &rules, fits);
    let at_once = Standing::Spared(Spared::AtOnce { most: 4 });
    let told = verdicts(&mut isolation);
    assert_eq!(told, [Standing::Isolated, Standing::Isolated, at_once]);
}

#[test]
fn a_dry_run_has_the_bounds_of_the_real_thing() {
    let (mut isolation, mut rules) = (Isolation::default(), rules());
    rules.bounds.most_per_hour = 1;
    let all = [1, 2].map(|link| excess(link, ErrorRule::Discards));
    isolation.judge(at(0), &all, &rules, fits);
    let spared = Standing::Spared(Spared::PerHour { most: 1 });
    assert_eq!(verdicts(&mut isolation), [Standing::DryRun, spared]);
    isolation.judge(at(0), &[all[0], all[1], symbols(3)], &rules, fits);
    assert_eq!(out(&isolation), [3], "what only tells takes nothing away");
}

#[test]
fn the_fabric_is_looked_at_now_and_then_for_what_it_needs() {
    let (mut isolation, rules) = (Isolation::default(), rules());
    let all: Vec<LinkExcess> = (0..10).map(symbols).collect();
    let mut looks = Vec::new();
    for second in (0..60).step_by(10) {
        isolation.judge(at(second), &all, &rules, |_, excess| {
            looks.push((second, excess.far.0.0 / 2));
            Fit::Kept(Spared::LastPath)
        });
    }
    let links: Vec<u64> = looks.iter().map(|(_, link)| *link).collect();
    assert_eq!(links, (0..10).collect::<Vec<u64>>());
    let at_once = looks.iter().filter(|(second, _)| *second == 0).count();
    assert_eq!(at_once, LOOKS_MAX as usize);
    isolation.judge(at(60), &all, &rules, fits);
    assert_eq!(out(&isolation), [0, 1, 2, 3]);
}

/// Many that the fabric cannot do without, and those for which a look costs nothing, do not keep another one waiting.
#[test]
fn every_link_has_its_turn() {
    let rules = rules();
    for why in [Spared::LastPath, Spared::Host] {
        let mut isolation = Isolation::default();
        let fit = |_: &Isolation, excess: &LinkExcess| match excess.link() == symbols(99).link() {
            true => Fit::Fits,
            false => Fit::Kept(why),
        };
        // The worst come first, and are due again before all have had their turn.
        let all: Vec<_> = (0..100).map(symbols).collect();
        for reading in 0..25 {
            isolation.judge(at(reading * 60), &all, &rules, fit);
        }
        assert_eq!(out(&isolation), [99], "{why}");
    }
}

#[test]
fn other_rules_end_what_they_do_not_take_out_of_use() {
    let (mut isolation, mut rules) = (Isolation::default(), rules());
    rules.discards.action = Action::Quarantine;
    let all = [symbols(1), excess(2, ErrorRule::Discards)];
    isolation.judge(at(0), &all, &rules, fits);
    rules.discards.action = Action::DryRun;
    rules.hold.first = Duration::from_secs(60);
    rules.hold.most = Duration::from_secs(60);
    isolation.follow(at(10), Some(&rules));
    assert_eq!(out(&isolation), [1]);
    assert_eq!(isolation.deadline(), Some(at(60)));
    isolation.follow(at(20), None);
    assert_eq!(out(&isolation), []);
    let over = isolation.news.iter();
    let over = over.filter(|news| {
        let why = OverReason::Rules;
        matches!(news, News::Over { was_out: true, why: found, .. } if *found == why)
    });
    assert_eq!(over.count(), 2);
}

#[test]
fn what_outlasts_a_restart_goes_on_and_ends_in_time_after_a_step_of_the_clock() {
    let (mut isolation, mut rules) = (Isolation::default(), rules());
    rules.bounds.most_per_hour = 2;
    isolation.judge(at(0), &[symbols(1), symbols(2)], &rules, fits);
    let mut again = Isolation::default();
    again.restore(isolation.kept());
    again.settle(at(100), &rules.hold);
    assert_eq!(again.kept(), isolation.kept());
    again.judge(at(100), &[symbols(3)], &rules, fits);
    assert_eq!(out(&again), [1, 2], "the hour goes on");

    let mut back = Isolation::default();
    back.restore(isolation.kept());
    let long_ago = Tick(at(0).0 - 100 * 86_400_000_000_000);
    back.settle(long_ago, &rules.hold);
    assert_eq!(back.deadline(), Some(long_ago + rules.hold.most));
    assert!(back.taken.is_empty());
}

#[test]
fn offences_that_are_remembered_are_bounded() {
    let (mut isolation, mut rules) = (Isolation::default(), rules());
    rules.bounds.most_per_hour = u32::MAX;
    rules.bounds.most_at_once = 10_000;
    rules.hold.first = Duration::from_secs(1);
    for round in 0..3000_u64 {
        let now = at(2 * round);
        isolation.release(now);
        let all: Vec<LinkExcess> = (0..8).map(|link| symbols(8 * round + link)).collect();
        isolation.judge(now, &all[..4], &rules, fits);
        isolation.judge(now, &all[4..], &rules, fits);
    }
    assert_eq!(isolation.offenders.len(), OFFENDERS_MAX);
}

proptest! {
    /// Whatever is measured, released and forgiven: at no time is more out of use than the bounds say, more taken
    /// out in any hour, or a link taken that the fabric needs.
    #[test]
    fn bounds_hold_at_all_times(
        most_per_hour in 0_u32..6,
        most_at_once in 0_u32..8,
        needed in proptest::collection::btree_set(0_u64..20, 0..8),
        steps in proptest::collection::vec(
            (1_u64..900, proptest::collection::vec((0_u64..20, any::<bool>(), any::<bool>()), 0..10), 0_u64..60),
            1..120,
        ),
    ) {
        let (mut isolation, mut rules) = (Isolation::default(), rules());
        rules.bounds.most_per_hour = most_per_hour;
        rules.bounds.most_at_once = most_at_once;
        let (mut now, mut taken) = (0, Vec::new());
        for (seconds, measured, forgiven) in steps {
            now += seconds;
            isolation.release(at(now));
            isolation.forgive(at(now), symbols(forgiven).port);
            let all: Vec<LinkExcess> = measured.iter().map(|(link, is_dry, is_over)| LinkExcess {
                is_over: *is_over,
                ..excess(*link, if *is_dry { ErrorRule::Discards } else { ErrorRule::SymbolErrors })
            }).collect();
            let before = out(&isolation);
            isolation.judge(at(now), &all, &rules, |_, excess| {
                match needed.contains(&(excess.far.0.0 / 2)) {
                    true => Fit::Kept(Spared::LastPath),
                    false => Fit::Fits,
                }
            });
            let after = out(&isolation);
            for link in after.iter().filter(|link| !before.contains(link)) {
                prop_assert!(!needed.contains(link));
                prop_assert!(measured.contains(&(*link, false, true)));
                taken.push(now);
            }
            prop_assert!(after.len() <= most_at_once as usize);
            let lately = taken.iter().filter(|at| now - **at < 3600).count();
            prop_assert!(lately <= most_per_hour as usize, "{lately} within an hour");
        }
    }
}
