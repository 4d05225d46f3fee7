//! What we believe about our dependencies. A test here that fails after an upgrade names what has to be thought over.

use actix::{Actor, Context, Handler, MailboxError, Message, Supervised, Supervisor, System};

struct Fragile;

impl Actor for Fragile {
    type Context = Context<Self>;
}

impl Supervised for Fragile {}

#[derive(Message)]
#[rtype(result = "()")]
struct Panic;

impl Handler<Panic> for Fragile {
    type Result = ();

    fn handle(&mut self, _: Panic, _: &mut Self::Context) {
        panic!("on purpose");
    }
}

#[test]
fn an_actor_that_panics_answers_closed_and_is_not_restarted_by_its_supervisor() {
    System::new().block_on(async {
        let address = Supervisor::start(|_| Fragile);
        assert_eq!(address.send(Panic).await, Err(MailboxError::Closed));
        assert_eq!(address.send(Panic).await, Err(MailboxError::Closed));
        assert!(!address.connected());
    });
}

#[test]
fn a_dead_actor_leaves_its_thread_alive() {
    System::new().block_on(async {
        let address = Fragile.start();
        assert!(address.send(Panic).await.is_err());
        let another = Fragile.start();
        assert!(another.connected());
    });
}
