//! A table whose places are used again, under another generation.

use crate::token::ConnectionToken;

/// Values by token.
#[derive(Debug)]
pub struct Table<T> {
    places: Vec<Place<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Place<T> {
    generation: u16,
    value: Option<T>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Table<T> {
    /// Puts a value in a free place.
    pub fn insert(&mut self, value: T) -> ConnectionToken {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place { generation: 0, value: None });
            (self.places.len() - 1) as u32
        });
        let entry = &mut self.places[place as usize];
        entry.value = Some(value);
        ConnectionToken { place, generation: entry.generation }
    }

    /// The value that got this token, while it is there.
    pub fn get(&mut self, token: ConnectionToken) -> Option<&mut T> {
        let entry = self.places.get_mut(token.place as usize)?;
        entry.value.as_mut().filter(|_| entry.generation == token.generation)
    }

    /// Drops the value that got this token.
    pub fn remove(&mut self, token: ConnectionToken) {
        if self.get(token).is_some() {
            let entry = &mut self.places[token.place as usize];
            entry.value = None;
            entry.generation = entry.generation.wrapping_add(1);
            self.free.push(token.place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_token_does_not_reach_the_next_value_in_its_place() {
        let mut table = Table::default();
        let first = table.insert("first");
        assert_eq!(table.get(first), Some(&mut "first"));
        table.remove(first);
        let second = table.insert("second");
        assert_eq!(second.place, first.place);
        assert_eq!(table.get(first), None);
        table.remove(first);
        assert_eq!(table.get(second), Some(&mut "second"));
    }
}
