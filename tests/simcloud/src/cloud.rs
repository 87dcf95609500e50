//! The server, in reading order: [`config`] is what its file says; [`object`] are the kinds of objects, [`range`] their
//! addresses; [`world`] is the cloud's rules as plain functions over data; [`store`] makes effects durable; [`fault`]
//! and [`limit`] get in the way; [`route`] and [`reply`] are HTTP requests and answers as data; [`service`] carries a
//! request through all of them; [`server`] listens.

pub mod config;
pub mod fault;
pub mod limit;
pub mod object;
pub mod range;
pub mod reply;
pub mod route;
pub mod server;
pub mod service;
pub mod store;
pub mod world;
