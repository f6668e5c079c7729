//! What is recorded is read again, whatever happens between.

mod audit;
mod budget;
mod damage;
mod duckdb;
mod model;
mod readings;
mod states;
mod trouble;
