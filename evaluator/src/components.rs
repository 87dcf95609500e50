//! The cycles of directed graphs.

/// The strongly connected components, in reverse topological order. Computed without recursion.
pub(crate) fn components(next: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let count = next.len();
    let (mut index, mut low) = (vec![UNSEEN; count], vec![0; count]);
    let (mut on_stack, mut stack) = (vec![false; count], Vec::new());
    let mut found = Vec::new();
    let mut counter = 0;
    for start in 0..count {
        if index[start] != UNSEEN {
            continue;
        }
        let mut calls = vec![(start, 0)];
        while let Some((node, child)) = calls.pop() {
            if child == 0 {
                index[node] = counter;
                low[node] = counter;
                counter += 1;
                stack.push(node);
                on_stack[node] = true;
            }
            if let Some(to) = next[node].get(child) {
                calls.push((node, child + 1));
                if index[*to] == UNSEEN {
                    calls.push((*to, 0));
                } else if on_stack[*to] {
                    low[node] = low[node].min(index[*to]);
                }
                continue;
            }
            if low[node] == index[node] {
                let mut members = Vec::new();
                while let Some(member) = stack.pop() {
                    on_stack[member] = false;
                    members.push(member);
                    if member == node {
                        break;
                    }
                }
                found.push(members);
            }
            if let Some((parent, _)) = calls.last() {
                low[*parent] = low[*parent].min(low[node]);
            }
        }
    }
    found
}
