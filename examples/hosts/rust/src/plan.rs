//! What an exported kernel launches for the numbers of a call, from its description; serde_json and nothing else.

use serde_json::{Map, Value};

/// The numbers of a call, by name: whole ones exactly, and as floats.
pub type Numbers = Map<String, Value>;

/// A launch: which text, its entry, workgroups along x, y and z, the words of its parameters, which buffers, and how each is bound.
#[derive(Debug)]
pub struct Launch {
    pub text: usize,
    pub entry: String,
    pub grid: [u32; 3],
    pub params: Vec<u32>,
    pub buffers: Vec<usize>,
    pub access: Vec<String>,
}

/// The bytes of each buffer, and the launches in order.
#[derive(Debug)]
pub struct Plan {
    pub bytes: Vec<u64>,
    pub launches: Vec<Launch>,
}

/// A formula: a number, the name of a number of the call, or `[operator, operand, ...]`, over integers.
pub fn value(formula: &Value, numbers: &Numbers) -> i128 {
    if let Some(name) = formula.as_str() {
        return value(&numbers[name], numbers);
    }
    let Some(list) = formula.as_array() else {
        return match (formula.as_i64(), formula.as_u64()) {
            (Some(n), _) => n.into(),
            (_, Some(n)) => n.into(),
            _ => formula.as_f64().unwrap_or(0.0) as i128,
        };
    };
    let mut parts = list[1..].iter().map(|part| value(part, numbers));
    let first = parts.next().unwrap_or(0);
    parts.fold(first, |a, b| match list[0].as_str().unwrap_or("") {
        "+" => a + b,
        "*" => a * b,
        "//" => floor_divide(a, b),
        "%" => a - floor_divide(a, b) * b,
        "==" => (a == b).into(),
        "<=" => (a <= b).into(),
        "and" => (a != 0 && b != 0).into(),
        _ => (a != 0 || b != 0).into(),
    })
}

fn floor_divide(a: i128, b: i128) -> i128 {
    a / b - i128::from(a % b != 0 && (a < 0) != (b < 0))
}

/// The first variant whose needs a device has. Subgroups also have to be as large as its `lanes`.
pub fn variant<'a>(function: &'a Value, features: &[&str], smallest_subgroup: u64) -> Option<&'a Value> {
    function["variants"].as_array()?.iter().find(|one| {
        let needs = one["needs"].as_array().into_iter().flatten();
        needs.into_iter().all(|need| features.contains(&need.as_str().unwrap_or("")))
            && one["lanes"].as_u64() <= Some(smallest_subgroup)
    })
}

/// Whether a function has a number or a buffer of that name.
pub fn takes(function: &Value, name: &str) -> bool {
    let named = |list: &Value| list.as_array().is_some_and(|some| some.iter().any(|one| one["name"] == name));
    named(&function["numbers"]) || named(&function["buffers"])
}

/// What is launched, or why the call is refused.
pub fn plan(function: &Value, variant: &Value, given: &Numbers) -> Result<Plan, String> {
    let mut numbers = Numbers::new();
    for number in function["numbers"].as_array().into_iter().flatten() {
        let name = number["name"].as_str().unwrap_or("");
        let n = match (given.get(name), number.get("default")) {
            (Some(n), _) => n.clone(),
            (_, Some(default)) => (value(default, &numbers) as u64).into(),
            _ => return Err(format!("{name} is not given, it takes {number}")),
        };
        let range = |n: i128| value(&number["least"], &numbers) <= n && n <= value(&number["most"], &numbers);
        if !n.is_number() || (number.get("least").is_some() && (n.is_f64() || !range(value(&n, &numbers)))) {
            return Err(format!("{name} is {n}, it takes {number}"));
        }
        numbers.insert(name.to_string(), n);
    }
    for fact in variant["facts"].as_array().into_iter().flatten() {
        if value(&fact["holds"], &numbers) == 0 {
            let text = fact["text"].as_str().unwrap_or("").to_string();
            return Err(numbers
                .iter()
                .fold(text, |text, (name, n)| text.replace(&format!("{{{name}}}"), &n.to_string())));
        }
    }
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let bytes = list(&function["buffers"]).iter().map(|buffer| value(&buffer["bytes"], &numbers) as u64).collect();
    let mut launches = Vec::new();
    for launch in list(&variant["launches"]) {
        if launch.get("when").is_some_and(|when| value(when, &numbers) == 0) {
            continue;
        }
        let word = |param: &Value| match (param["type"].as_str(), &param["value"]) {
            (Some("f32"), Value::String(name)) => (numbers[name].as_f64().unwrap_or(0.0) as f32).to_bits(),
            (Some("f32"), n) => (n.as_f64().unwrap_or(0.0) as f32).to_bits(),
            (_, formula) => value(formula, &numbers) as u32,
        };
        let grid: Vec<u32> = list(&launch["grid"]).iter().map(|n| value(n, &numbers) as u32).collect();
        launches.push(Launch {
            text: value(&launch["text"], &numbers) as usize,
            entry: launch["entry"].as_str().unwrap_or("").to_string(),
            grid: [grid[0], grid[1], grid[2]],
            params: list(&launch["params"]).iter().map(word).collect(),
            buffers: list(&launch["buffers"]).iter().map(|n| value(n, &numbers) as usize).collect(),
            access: list(&launch["access"]).iter().map(|text| text.as_str().unwrap_or("").to_string()).collect(),
        });
    }
    Ok(Plan { bytes, launches })
}
