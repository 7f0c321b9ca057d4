//! Machines whose caches and programs misbehave, played by a script.

use coldstart_launch::{CommandLine, LaunchOptions};
use coldstart_profile::measurement::{End, Residency, Sample, StartState, Use};

use super::*;
use crate::enough::EarlyEnd;
use crate::observer::Silent;
use crate::plan::Candidate;

const MIB: u64 = 1 << 20;
const PAGES: u64 = 1000;

type Tamper = dyn FnMut(usize, usize, StartState, &mut RawRun);

/// A machine on which each command has 1000 pages of files, of which 100 cannot be evicted.
struct Played {
    /// Pages resident, by command.
    resident: Vec<u64>,
    /// Changes a run before it is handed out; gets the number of the launch from 1, the command and the state.
    tamper: Box<Tamper>,
    /// Pages that a command loses while another runs, by command.
    decay: Vec<u64>,
    tells_residency: bool,
    launches: Vec<(usize, StartState)>,
}

impl Played {
    fn new(commands: usize, tamper: impl FnMut(usize, usize, StartState, &mut RawRun) + 'static) -> Self {
        Self {
            resident: vec![0; commands],
            tamper: Box::new(tamper),
            decay: vec![0; commands],
            tells_residency: true,
            launches: Vec::new(),
        }
    }

    fn look(&self, command: usize) -> Residency {
        if self.tells_residency {
            Residency { file_pages: PAGES, resident_pages: self.resident[command], ..Residency::default() }
        } else {
            Residency { unknown_files: 1, ..Residency::default() }
        }
    }
}

impl Machine for Played {
    fn residency(&mut self, command: usize) -> Result<Option<Residency>, MeasureError> {
        Ok(Some(self.look(command)))
    }

    fn run(&mut self, command: usize, state: StartState) -> Result<RawRun, MeasureError> {
        match state {
            StartState::Cold | StartState::Boot => self.resident.fill(100),
            StartState::Selective => self.resident[command] = 100,
            StartState::Hot => {}
        }
        let missing = PAGES - self.resident[command].min(PAGES);
        let mut run = RawRun {
            seconds: Some(1.0 + missing as f64 / 1000.0),
            end: End::Exited(0),
            last_seen: None,
            residency: Some(self.look(command)),
            restored: None,
            bytes_read: Some(missing * PAGE_SIZE),
            major_faults: Some(missing / 8),
            minor_faults: Some(10),
            user_seconds: Some(0.5),
            system_seconds: Some(0.1),
            uncounted: None,
            devices: Vec::new(),
            processors: None,
        };
        self.launches.push((command, state));
        (self.tamper)(self.launches.len(), command, state, &mut run);
        for (resident, decay) in self.resident.iter_mut().zip(&self.decay) {
            *resident = resident.saturating_sub(*decay);
        }
        self.resident[command] = PAGES;
        Ok(run)
    }
}

fn plan(commands: usize, states: &[StartState], runs: u32) -> MeasurePlan {
    let candidate = |index: usize| Candidate {
        label: format!("command {index}"),
        command_line: CommandLine::new("true", [] as [&str; 0]),
        launch: LaunchOptions::default(),
        files: vec!["/bin/true".into()],
    };
    MeasurePlan {
        runs,
        most_repetitions: 4,
        ..MeasurePlan::new((0..commands).map(candidate).collect(), states.to_vec())
    }
}

fn run(plan: &MeasurePlan, machine: &mut Played) -> Record {
    execute(plan, machine, &mut Silent).unwrap()
}

fn counted(record: &Record, command: usize, state: StartState) -> Vec<&Sample> {
    record.samples.iter().filter(|sample| is_counted(sample, command, state)).collect()
}

fn uses(record: &Record, wanted: impl Fn(&Use) -> bool) -> usize {
    record.samples.iter().filter(|sample| wanted(&sample.used)).count()
}

#[test]
fn a_well_behaved_machine_runs_each_slot_once() {
    use StartState::{Cold, Hot, Selective};
    let mut machine = Played::new(2, |_, _, _, _| {});
    let record = run(&plan(2, &[Hot, Cold, Selective, Hot], 3), &mut machine);
    for state in [Cold, Selective, Hot] {
        for command in 0..2 {
            let samples = counted(&record, command, state);
            assert_eq!(samples.len(), 3);
            assert_eq!(samples.iter().map(|sample| sample.round).collect::<Vec<_>>(), [1, 2, 3]);
            assert!(samples.iter().all(|sample| (sample.bytes_read == Some(0)) == (state == Hot)));
        }
    }
    // Each command is warmed up once before the selective block; the hot block finds it warm by then.
    let warm_ups: Vec<_> = record.samples.iter().filter(|sample| sample.used == Use::WarmUp).collect();
    assert_eq!(
        warm_ups.iter().map(|sample| (sample.command, sample.state)).collect::<Vec<_>>(),
        [(0, Selective), (1, Selective)]
    );
    assert!(record.samples.iter().enumerate().all(|(index, sample)| sample.number as usize == index + 1));
    assert!(record.decays.is_empty() && record.gave_up.is_empty());
}

#[test]
fn a_hot_run_that_read_is_kept_marked_and_repeated() {
    // Launch 1 is the warm-up.
    let mut machine = Played::new(1, |launch, _, _, run| {
        if launch == 3 {
            run.bytes_read = Some(5 * MIB);
        }
    });
    let record = run(&plan(1, &[StartState::Hot], 3), &mut machine);
    assert_eq!(counted(&record, 0, StartState::Hot).len(), 3);
    let odd = &record.samples[2];
    assert!(matches!(&odd.used, Use::Contradicts { reason } if reason.contains("5120 KiB")), "{:?}", odd.used);
    let repeated = &record.samples[3];
    assert_eq!((repeated.round, repeated.attempt), (odd.round, 2));
}

#[test]
fn repetitions_are_bounded() {
    let mut machine = Played::new(1, |launch, _, _, run| {
        if launch > 1 {
            run.bytes_read = Some(5 * MIB);
        }
    });
    let record = run(&plan(1, &[StartState::Hot], 3), &mut machine);
    assert_eq!(counted(&record, 0, StartState::Hot).len(), 0);
    assert_eq!(uses(&record, |used| matches!(used, Use::Contradicts { .. })), 3 + 4);
}

#[test]
fn a_first_cold_run_that_was_warm_is_found_later() {
    let mut machine = Played::new(1, |launch, _, _, run| {
        if launch == 1 {
            run.bytes_read = Some(70_000);
        }
    });
    let record = run(&plan(1, &[StartState::Cold], 4), &mut machine);
    assert!(matches!(record.samples[0].used, Use::Contradicts { .. }));
    assert_eq!(counted(&record, 0, StartState::Cold).len(), 4);
    assert_eq!((record.samples[4].round, record.samples[4].attempt), (1, 2), "its round is filled again at the end");
}

#[test]
fn a_cold_run_that_began_warm_is_repeated() {
    let mut machine = Played::new(1, |launch, _, _, run| {
        if launch == 2 {
            run.residency = Some(Residency { file_pages: PAGES, resident_pages: 500, ..Residency::default() });
        }
    });
    let record = run(&plan(1, &[StartState::Selective], 3), &mut machine);
    assert!(matches!(record.samples[1].used, Use::Counted), "the first has nothing to be compared with");
    assert!(matches!(record.samples[0].used, Use::WarmUp));

    let mut machine = Played::new(1, |launch, _, _, run| {
        if launch == 2 {
            run.residency = Some(Residency { file_pages: PAGES, resident_pages: 500, ..Residency::default() });
        }
    });
    let record = run(&plan(1, &[StartState::Cold], 3), &mut machine);
    assert!(matches!(&record.samples[1].used, Use::Contradicts { reason } if reason.contains("500 pages")));
    assert_eq!(counted(&record, 0, StartState::Cold).len(), 3);
}

#[test]
fn decayed_caches_are_warmed_again() {
    let mut machine = Played::new(2, |_, _, _, _| {});
    machine.decay = vec![0, 400];
    let record = run(&plan(2, &[StartState::Hot], 5), &mut machine);
    // AB BA AB BA AB: in rounds 3 and 5 command 1 comes after two runs of command 0.
    assert_eq!(record.decays, HashMap::from([(1, (2, 800))]));
    let warm_ups: Vec<_> = record
        .samples
        .iter()
        .filter(|sample| sample.used == Use::WarmUp && sample.command == 1)
        .map(|sample| sample.round)
        .collect();
    assert_eq!(warm_ups, [1, 3, 5]);
    assert_eq!(counted(&record, 1, StartState::Hot).len(), 5);
}

#[test]
fn where_the_kernel_does_not_tell_only_the_order_makes_hot() {
    let mut machine = Played::new(2, |_, _, _, _| {});
    machine.tells_residency = false;
    let record = run(&plan(2, &[StartState::Hot], 4), &mut machine);
    // wA A | wB B | B wA A | wB... : a command that follows itself is not warmed up again.
    let order: String = record
        .samples
        .iter()
        .map(|sample| match (sample.command, sample.used == Use::WarmUp) {
            (0, true) => 'a',
            (0, false) => 'A',
            (_, true) => 'b',
            (_, false) => 'B',
        })
        .collect();
    assert_eq!(order, "aAbBBaAAbBBaA");
}

#[test]
fn failed_runs_are_kept_and_not_repeated() {
    let mut machine = Played::new(1, |launch, _, _, run| {
        if launch == 3 {
            run.end = End::Signalled(11);
            run.seconds = None;
        }
    });
    let record = run(&plan(1, &[StartState::Hot], 5), &mut machine);
    assert_eq!(counted(&record, 0, StartState::Hot).len(), 4);
    assert_eq!(uses(&record, |used| matches!(used, Use::Failed { reason } if reason == "was killed by signal 11")), 1);
    assert!(record.gave_up.is_empty());
}

#[test]
fn what_only_fails_is_given_up_and_the_others_go_on() {
    let mut machine = Played::new(2, |_, command, _, run| {
        if command == 0 {
            run.end = End::Exited(1);
        }
    });
    let mut not_tried = 0;
    let mut observer = |event: Event<'_>| {
        if let Event::GaveUp { command: 0, runs, .. } = event {
            not_tried += runs;
        }
    };
    let record = execute(&plan(2, &[StartState::Cold], 10), &mut machine, &mut observer).unwrap();
    assert_eq!(record.gave_up, HashSet::from([(0, StartState::Cold)]));
    assert_eq!(machine.launches.iter().filter(|(command, _)| *command == 0).count(), 3);
    assert_eq!(counted(&record, 1, StartState::Cold).len(), 10);
    assert_eq!(not_tried, 7);
}

#[test]
fn every_planned_run_is_settled_once() {
    let mut machine = Played::new(2, |launch, _, state, run| {
        if launch % 5 == 0 && state == StartState::Hot {
            run.bytes_read = Some(5 * MIB);
        }
    });
    let (mut planned, mut settled) = (0, 0);
    let mut observer = |event: Event<'_>| match event {
        Event::Begin { runs, .. } => planned = runs,
        Event::Done { settles_slot, .. } => settled += usize::from(settles_slot),
        _ => {}
    };
    execute(&plan(2, &[StartState::Cold, StartState::Hot], 6), &mut machine, &mut observer).unwrap();
    assert_eq!((planned, settled), (24, 24));
}

#[test]
fn a_state_ends_early_when_its_intervals_are_narrow_and_every_planned_run_is_accounted_for() {
    // Cold runs all take the same, hot ones vary.
    let mut machine = Played::new(2, |launch, _, state, run| {
        if state == StartState::Hot {
            run.seconds = Some(1.0 + (launch % 7) as f64 / 10.0);
        }
    });
    let mut plan = plan(2, &[StartState::Cold, StartState::Hot], 10);
    plan.early_end = Some(EarlyEnd { least_rounds: 3, precision: 0.01, time_limit: None });
    let (mut planned, mut settled) = (0, 0);
    let mut observer = |event: Event<'_>| match event {
        Event::Begin { runs, .. } => planned = runs,
        Event::Done { settles_slot, .. } => settled += usize::from(settles_slot),
        Event::Enough { runs, .. } => settled += runs,
        _ => {}
    };
    let record = execute(&plan, &mut machine, &mut observer).unwrap();
    assert_eq!(counted(&record, 0, StartState::Cold).len(), 3);
    assert_eq!(counted(&record, 1, StartState::Cold).len(), 3);
    assert_eq!(counted(&record, 1, StartState::Hot).len(), 10);
    assert_eq!((planned, settled), (40, 40));
}
