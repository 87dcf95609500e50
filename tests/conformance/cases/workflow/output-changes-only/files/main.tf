output "same" {
  value = "s"
}
output "chg" {
  value = 1
}
output "gone" {
  value = [1, 2]
}
output "sens" {
  value = "x"
}
