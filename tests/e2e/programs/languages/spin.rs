use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static DONE: AtomicU64 = AtomicU64::new(0);

struct Square;

trait Shape {
    fn spin(&self, n: u64);
}

impl Shape for Square {
    #[inline(never)]
    fn spin(&self, n: u64) {
        for _ in 0..n {
            DONE.fetch_add(1, Relaxed);
        }
    }
}

mod items {
    #[inline(never)]
    pub fn work<T: super::Shape>(shape: &T) {
        for _ in 0..2 {
            shape.spin(100_000);
        }
    }
}

#[inline(never)]
fn item_done() {
    DONE.fetch_add(1, Relaxed);
}

fn main() {
    println!("ready");
    std::io::stdout().flush().unwrap();
    loop {
        items::work(&Square);
        item_done();
    }
}
