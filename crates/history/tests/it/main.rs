//! What is recorded is read again, whatever happens between.

mod audit;
mod budget;
mod damage;
mod killed;
mod model;
mod other_readers;
mod readings;
mod states;
mod trouble;
