//! Attacks of a hostile host at small sizes: what comes of each is what docs/security.md says.

use std::sync::Arc;

use weft_fabric::{FabricSpec, Topology};
use weft_testkit::campaign::EVENTS_SHOWN;
use weft_testkit::campaign::attacks::{Attack, Guard, HARDENED, Outcome, Verdict, run};

/// One switch, and two tiers.
const FABRICS: [&str; 2] = ["one-switch:8", "pgft:2;4,6;1,4;1,1"];
const SEEDS: u64 = 2;
const PAGE: &str = include_str!("../../../../docs/security.md");
/// Columns of the page's table, from the one after the name on.
const COLUMNS: [Guard; 3] = [Guard::Stock, Guard::Keys, Guard::Fenced];

fn fabric(spec: &str) -> Arc<Topology> {
    let spec: FabricSpec = spec.parse().unwrap();
    Arc::new(spec.generate().unwrap())
}

/// All seeds of an attack in all fabrics.
fn outcomes(attack: Attack, guard: Guard) -> Vec<Outcome> {
    let in_fabric = |spec: &&str| {
        let topology = fabric(spec);
        (0..SEEDS).map(move |seed| run(attack, guard, &topology, seed).unwrap())
    };
    FABRICS.iter().flat_map(in_fabric).collect()
}

/// Everything of the worst one.
fn described(outcomes: &[Outcome]) -> String {
    let worst = outcomes.iter().max_by_key(|outcome| outcome.verdict());
    let worst = worst.unwrap();
    let got = worst.got.as_deref().unwrap_or("nothing");
    format!(
        "{}, {}, seed {}: {}, told {}, p99 {:?}, got {got}\n{}",
        worst.attack,
        worst.guard,
        worst.seed,
        worst.verdict(),
        worst.told,
        worst.p99,
        worst.describe(EVENTS_SHOWN)
    )
}

/// What the page's table says of an attack: a verdict for each configuration, and what is told of it.
fn row(attack: Attack) -> Vec<String> {
    let begin = format!("| {} | {} |", attack.number(), attack.name());
    let line = PAGE.lines().find_map(|line| line.strip_prefix(&begin));
    let line = line.unwrap_or_else(|| panic!("docs/security.md lacks a row {begin}"));
    line.split('|').map(|cell| cell.trim().to_owned()).collect()
}

fn check(attack: Attack) {
    let said = row(attack);
    let mut wrong = String::new();
    for (guard, verdict) in COLUMNS.into_iter().zip(&said) {
        let outcomes = outcomes(attack, guard);
        let worst = outcomes.iter().map(Outcome::verdict).max();
        if worst.map(|it| it.to_string()).as_ref() != Some(verdict) {
            wrong += &format!("the page says {verdict}\n{}\n", described(&outcomes));
        }
        if guard == Guard::Fenced {
            let told = outcomes.iter().map(|outcome| outcome.told).max();
            let told = told.unwrap().to_string();
            if told != said[COLUMNS.len()] {
                wrong += &format!("told {told}\n{}\n", described(&outcomes));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn sets_to_others_devices_need_the_m_key() {
    check(Attack::SetToSwitch);
}

#[test]
fn with_a_key_for_each_port_the_own_one_opens_no_other() {
    check(Attack::StolenKey);
}

#[test]
fn a_rogue_manager_without_the_keys_takes_over_nothing() {
    check(Attack::RogueManager);
}

#[test]
fn a_host_that_claims_to_be_another_is_left_out() {
    check(Attack::Clone);
}

#[test]
fn requests_in_the_name_of_others_do_not_arrive() {
    check(Attack::ForgedSource);
    // Without the check of source LIDs they do, and the judges notice.
    let unchecked = outcomes(Attack::ForgedSource, Guard::Unchecked);
    for outcome in &unchecked {
        assert_eq!(outcome.verdict(), Verdict::Succeeded);
    }
}

#[test]
fn registrations_of_one_host_leave_room_for_others() {
    check(Attack::SaFlood);
}

#[test]
fn a_partition_of_others_takes_nothing_from_a_host() {
    check(Attack::ForeignPartition);
    // Where the host is a member too, its datagrams arrive, and the judges notice.
    for outcome in &outcomes(Attack::ForeignPartition, Guard::Unchecked) {
        assert_eq!(outcome.verdict(), Verdict::Succeeded);
    }
}

#[test]
fn a_trap_storm_does_not_keep_the_manager_from_others() {
    check(Attack::TrapStorm);
}

#[test]
fn groups_without_end_are_bounded() {
    check(Attack::MulticastStorm);
}

#[test]
fn a_host_that_takes_nothing_leaves_others_a_part_of_the_links() {
    check(Attack::SlowReceiver);
    // Where switches wait for it, nobody gets through, and the judges notice.
    for outcome in &outcomes(Attack::SlowReceiver, Guard::Unchecked) {
        assert_eq!(outcome.verdict(), Verdict::Succeeded);
    }
}

#[test]
fn an_attack_gives_the_same_datagrams_every_time() {
    let topology = fabric(FABRICS[1]);
    let run = |seed| {
        let outcome = run(Attack::SetToSwitch, Guard::Keys, &topology, seed);
        outcome.unwrap().datagrams
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

#[test]
fn the_configuration_with_keys_is_the_one_of_the_page() {
    for line in HARDENED.lines().filter(|line| !line.contains("Key>")) {
        assert!(PAGE.contains(line), "docs/security.md lacks {line}");
    }
}
