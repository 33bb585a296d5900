//! Algorithms 1 and 2 in floats, line by line.

use std::collections::VecDeque;

use equipoise::plan::{DesignName, Plan};

use crate::paper::Draw;

/// The transcription's state; one entry a feature.
pub struct Paper {
    pub private: bool,
    pub n: f64,
    pub half: u32,
    pub alpha: f64,
    pub eps: f64,
    pub y_max: f64,
    pub alive: Vec<[bool; 2]>,
    pub epoch: Vec<u32>,
    pub batch: Vec<f64>,
    pub r: Vec<f64>,
    pub sum: Vec<[f64; 2]>,
    pub pulls: Vec<[f64; 2]>,
    pub n_j: Vec<f64>,
    pub t_j: Vec<f64>,
    pub output: Vec<Option<f64>>,
    /// Outcomes behind an output, as published.
    pub counted: Vec<f64>,
}

impl Paper {
    pub fn new(plan: &Plan) -> Self {
        let m = usize::from(plan.features());
        Self {
            private: plan.design() == DesignName::DpConse,
            n: f64::from(plan.patients()),
            half: plan.patients() / 2,
            alpha: plan.alpha().to_f64(),
            eps: if plan.design() == DesignName::DpConse { plan.epsilon().to_f64() } else { 1.0 },
            y_max: f64::from(plan.scale()),
            // Line 2.
            alive: vec![[true; 2]; m],
            epoch: vec![0; m],
            batch: vec![0.0; m],
            r: vec![0.0; m],
            sum: vec![[0.0; 2]; m],
            pulls: vec![[0.0; 2]; m],
            n_j: vec![0.0; m],
            t_j: vec![0.0; m],
            output: vec![None; m],
            counted: vec![0.0; m],
        }
    }

    fn r_e(&self, e: u32) -> f64 {
        let (e2, delta) = (f64::from(e).powi(2), 0.5f64.powi(e as i32));
        let first = 32.0 * (16.0 * self.n * e2).ln() / (delta * delta);
        let second = 8.0 * (8.0 * self.n * e2).ln() / (self.eps * delta);
        first.max(second) + 1.0
    }

    fn h_e(&self, e: u32) -> f64 {
        ((16.0 * self.n * f64::from(e).powi(2)).ln() / (2.0 * self.r_e(e))).sqrt()
    }

    fn c_e(&self, e: u32) -> f64 {
        2.0 * (8.0 * self.n * f64::from(e).powi(2)).ln() / (self.r_e(e) * self.eps)
    }

    fn coin(&self, draws: &mut VecDeque<Draw>) -> usize {
        match draws.pop_front() {
            Some(Draw::Coin(heads)) => usize::from(heads),
            other => panic!("the algorithm throws a coin here, the core did {other:?}"),
        }
    }

    /// Lap(b): the discrete draw, put on the scale of its own rate.
    fn lap(&self, b: f64, draws: &mut VecDeque<Draw>) -> f64 {
        match draws.pop_front() {
            Some(Draw::Laplace { rate, k }) => {
                assert!((rate - self.eps / (2.0 * self.y_max)).abs() < 1e-12);
                b * rate * k as f64
            }
            other => panic!("the algorithm adds Laplace noise here, the core did {other:?}"),
        }
    }

    fn lap_plus(&self, m: f64, draws: &mut VecDeque<Draw>) -> f64 {
        match draws.pop_front() {
            Some(Draw::LapPlus { center, rate, value }) => {
                assert!((rate - self.eps / 2.0).abs() < 1e-12);
                assert_eq!(center, m.floor() as u64);
                value as f64
            }
            other => panic!("the algorithm draws Lap+ here, the core did {other:?}"),
        }
    }

    fn mean(&self, j: usize, i: usize) -> f64 {
        if self.pulls[j][i] == 0.0 { 0.0 } else { self.sum[j][i] / self.pulls[j][i] }
    }

    /// Patient `t` of feature `j`, whose outcome under each arm would be `r`; the arm.
    pub fn patient(&mut self, t: u32, j: usize, r: [f64; 2], draws: &mut VecDeque<Draw>) -> usize {
        if t <= self.half { self.first_half(j, r, draws) } else { self.second_half(t, j, r, draws) }
    }

    /// Lines 4 to 16 (17 in Algorithm 2).
    fn first_half(&mut self, j: usize, r: [f64; 2], draws: &mut VecDeque<Draw>) -> usize {
        self.n_j[j] += 1.0;
        if self.alive[j] != [true; 2] {
            return usize::from(self.alive[j][1]);
        }
        let a = self.coin(draws);
        self.sum[j][a] += r[a];
        self.pulls[j][a] += 1.0;
        self.r[j] += 1.0;
        if self.r[j] >= self.batch[j] {
            let e = self.epoch[j];
            if e >= 1 {
                let mut mu = [self.mean(j, 0), self.mean(j, 1)];
                let mut threshold = 2.0 * self.h_e(e);
                if self.private {
                    let b = 2.0 / (self.eps * self.r_e(e));
                    mu = [mu[0] + self.lap(b, draws), mu[1] + self.lap(b, draws)];
                    threshold += 2.0 * self.c_e(e);
                }
                let best = mu[0].max(mu[1]);
                for (alive, mu) in self.alive[j].iter_mut().zip(mu) {
                    if best - mu > threshold {
                        *alive = false;
                    }
                }
            }
            self.epoch[j] += 1;
            self.r[j] = 0.0;
            let r_e = self.r_e(self.epoch[j]);
            self.batch[j] = if self.private { self.lap_plus(r_e, draws) } else { r_e };
            self.sum[j] = [0.0; 2];
            self.pulls[j] = [0.0; 2];
        }
        a
    }

    /// Lines 17 to 23 (18 to 25): between the halves.
    fn between(&mut self, draws: &mut VecDeque<Draw>) {
        let f = self.n_j.iter().map(|f| f.powf(1.0 - self.alpha)).fold(f64::INFINITY, f64::min);
        let t_min = (self.n.ln() / self.eps).max(f);
        for j in 0..self.n_j.len() {
            self.t_j[j] = if self.private { self.lap_plus(t_min, draws) } else { t_min.floor() };
            self.n_j[j] = 0.0;
            self.sum[j] = [0.0; 2];
            self.pulls[j] = [0.0; 2];
        }
    }

    /// Lines 24 to 32 (26 to 34).
    fn second_half(&mut self, t: u32, j: usize, r: [f64; 2], draws: &mut VecDeque<Draw>) -> usize {
        if t == self.half + 1 {
            self.between(draws);
        }
        self.n_j[j] += 1.0;
        if self.n_j[j] <= self.t_j[j] {
            let a = self.coin(draws);
            self.sum[j][a] += r[a];
            self.pulls[j][a] += 1.0;
            if self.n_j[j] == self.t_j[j] {
                let noise = if self.private {
                    self.lap(2.0 / (self.eps * self.t_j[j]), draws)
                } else {
                    0.0
                };
                self.output[j] = Some(self.mean(j, 1) - self.mean(j, 0) + noise);
                self.counted[j] = self.t_j[j];
                if self.private {
                    // Not in the paper: the noise on the number of outcomes, which is T_j here.
                    let Some(Draw::Laplace { rate, k }) = draws.pop_front() else {
                        panic!("the number of outcomes is published without noise")
                    };
                    assert!((rate - self.eps / 2.0).abs() < 1e-12);
                    self.counted[j] = (self.t_j[j] + k as f64).clamp(1.0, self.t_j[j]);
                }
            }
            a
        } else if self.alive[j] == [true; 2] {
            self.coin(draws)
        } else {
            usize::from(self.alive[j][1])
        }
    }
}
