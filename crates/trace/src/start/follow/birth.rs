//! New threads and processes: what they share with the one that made them, and what has to be done for them.

use std::cell::RefCell;
use std::rc::Rc;

use coldstart_analyse::NoteKind;
use coldstart_follow::{Birth, Following, Origin};
use coldstart_sys::tracing::{Event, share_memory};

use super::handler::{StartHandler, Thread};
use super::space::Space;
use super::standing::Standing;

/// A memory that may be that of several processes.
type Shared = Rc<RefCell<Space>>;

impl StartHandler<'_> {
    pub(super) fn enter(&mut self, following: &mut Following, birth: Birth<Option<Shared>>) -> std::io::Result<()> {
        let Birth { thread, process, origin } = birth;
        if process != thread {
            self.enter_thread(following, thread, process, origin);
            return Ok(());
        }
        let (parent, shares_memory, space) = match origin {
            Origin::First => {
                self.threads.insert(thread, Thread::new(Rc::new(RefCell::new(Space::new(thread)))));
                return Ok(());
            }
            Origin::Made { process: maker, event, heritage } => {
                // `vfork` with another name may copy, and a plain `clone` may share.
                let shares_memory = share_memory(maker, thread).unwrap_or(event == Event::Vfork);
                let space = heritage.map(|space| if shares_memory { space } else { copy(&space, thread) });
                (maker, shares_memory, space)
            }
            Origin::Orphan { heritage } => (0, false, heritage.map(|space| copy(&space, thread))),
        };
        let space = space.unwrap_or_else(|| Rc::new(RefCell::new(Space::new(thread))));
        self.threads.insert(thread, Thread::new(Rc::clone(&space)));
        let mut standing = self.standing(following, thread);
        standing.note(NoteKind::Forked { parent, shares_memory });
        self.begin_process(&mut standing, &mut space.borrow_mut(), shares_memory)
    }

    fn enter_thread(&mut self, following: &mut Following, thread: u32, process: u32, origin: Origin<Option<Shared>>) {
        let relative = || {
            let of_process = |&(&number, _): &(&u32, &Thread)| following.process_of(number) == Some(process);
            self.threads.iter().find(of_process).map(|(_, relative)| Rc::clone(&relative.space))
        };
        let space = match origin {
            Origin::Made { heritage, .. } => heritage.or_else(relative),
            Origin::Orphan { heritage } => relative().or_else(|| heritage.map(|space| copy(&space, process))),
            Origin::First => None,
        };
        let space = space.unwrap_or_else(|| Rc::new(RefCell::new(Space::new(process))));
        self.threads.insert(thread, Thread::new(Rc::clone(&space)));
        space.borrow().stages.set_loader_breakpoint(&self.standing(following, thread));
    }

    fn begin_process(
        &self,
        standing: &mut Standing<'_>,
        space: &mut Space,
        shares_memory: bool,
    ) -> std::io::Result<()> {
        space.stages.set_loader_breakpoint(standing);
        if self.sees_each_page && !shares_memory {
            let at = standing.following.at();
            space.pages.see_each(standing, &space.memory, None, at)?;
        }
        Ok(())
    }
}

/// The copy of a memory that a new process has.
fn copy(space: &Shared, process: u32) -> Shared {
    Rc::new(RefCell::new(space.borrow().forked(process)))
}
