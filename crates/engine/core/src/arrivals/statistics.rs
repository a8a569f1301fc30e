//! Defines distributions, and measures how far samples deviate from them.

pub(super) type Law = fn(f64) -> f64;

/// The critical value of [`kolmogorov_smirnov`] at 0.1 %: one seed in a thousand exceeds it by chance.
pub(super) const KS_LEVEL: f64 = 1.95;

pub(super) fn kolmogorov_smirnov(mut sample: Vec<f64>, law: impl Fn(f64) -> f64) -> f64 {
    sample.sort_by(f64::total_cmp);
    let n = float(sample.len());
    let distance = |(i, &x): (usize, &f64)| {
        let p = law(x);
        (p - float(i) / n).max(float(i + 1) / n - p)
    };
    sample.iter().enumerate().map(distance).fold(0.0, f64::max) * n.sqrt()
}

pub(super) fn two_samples(mut a: Vec<f64>, mut b: Vec<f64>) -> f64 {
    b.sort_by(f64::total_cmp);
    a.sort_by(f64::total_cmp);
    let n = float(a.len());
    let below = |x: f64| float(b.partition_point(|&y| y <= x)) / n;
    let distance = a.iter().enumerate().map(|(i, &x)| (below(x) - float(i + 1) / n).abs());
    distance.fold(0.0, f64::max) * (n / 2.0).sqrt()
}

pub(super) fn exponential(x: f64) -> f64 {
    -libm::expm1(-x)
}

/// The gamma distribution of shape 1/2 and scale 1: the distribution of half the square of a standard normal variable.
pub(super) fn gamma_half(x: f64) -> f64 {
    libm::erf(x.sqrt())
}

pub(super) fn gamma_four(x: f64) -> f64 {
    1.0 - libm::exp(-x) * (1.0 + x * (1.0 + x / 2.0 * (1.0 + x / 3.0)))
}

pub(super) fn normal(x: f64) -> f64 {
    libm::erfc(-x / std::f64::consts::SQRT_2) / 2.0
}

pub(super) fn uniform(x: f64) -> f64 {
    x.clamp(0.0, 1.0)
}

pub(super) fn mean(sample: &[f64]) -> f64 {
    sample.iter().sum::<f64>() / float(sample.len())
}

pub(super) fn variance(sample: &[f64]) -> f64 {
    let mean = mean(sample);
    sample.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / float(sample.len() - 1)
}

/// Returns the correlation, scaled so that it is standard normal if the two values are independent.
pub(super) fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (mean_a, mean_b) = (mean(&a), mean(&b));
    let products: Vec<f64> = pairs.iter().map(|(x, y)| (x - mean_a) * (y - mean_b)).collect();
    mean(&products) / (variance(&a) * variance(&b)).sqrt() * float(pairs.len()).sqrt()
}

#[expect(clippy::cast_precision_loss, reason = "numbers of a test")]
pub(super) fn float(n: usize) -> f64 {
    n as f64
}
