output "same" {
  value = "s"
}
output "chg" {
  value = { now = "an object" }
}
output "sens" {
  value     = "x"
  sensitive = true
}
output "new" {
  value = toset(["b", "a"])
}
