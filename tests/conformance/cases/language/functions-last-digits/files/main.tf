locals {
  numbers = range(1, 60)
}
output "logs" {
  value = { for base in [2, 3, 5, 8, 10, 16] : base => [for n in local.numbers : log(n, base)] }
}
output "powers" {
  value = { for power in [0.5, -0.5, 3, -2] : tostring(power) => [for n in local.numbers : pow(n, power)] }
}
output "odd_powers" {
  value = [for pair in [[0, 0.5], [0, 0], [-8, 3], [2, 1.5], [8, 1 / 3]] : pow(pair[0], pair[1])]
}
output "ceilings" {
  value = [for n in local.numbers : "${ceil(log(n, 3))} ${floor(log(n, 3))} ${ceil(log(n, 2))}"]
}
output "chunks" {
  value = [chunklist([], 0), chunklist(["a"], 0), chunklist([], 2), chunklist(["a", "b", "c"], 2)]
}
output "dates" {
  value = [for form in ["YYYY''MM", "''''", "'o''clock'", "'''x'YY", "hh'h'''mm"] : try(formatdate(form, "2020-01-02T03:04:05Z"), "error")]
}
output "merged" {
  value = [issensitive(merge(sensitive(null), { z = 1 })), issensitive(merge({ z = 1 }, sensitive(null))), issensitive(merge(sensitive({}), { z = 1 }))]
}
