//! Implements connections: server addresses, streams, proxies, and both versions of HTTP. TLS is implemented in `net`.

pub(crate) mod addresses;
pub(crate) mod args;
pub(crate) mod endpoint;
pub(crate) mod environment_proxy;
pub(crate) mod http1;
#[cfg_attr(not(feature = "http2"), path = "transport/no_http2.rs")]
pub(crate) mod http2;
pub(crate) mod kernel_delays;
pub(crate) mod pool;
pub(crate) mod proxy;
#[cfg_attr(not(target_os = "linux"), path = "transport/no_stamped_stream.rs")]
pub(crate) mod stamped_stream;
pub(crate) mod stream;
mod time_limit;
