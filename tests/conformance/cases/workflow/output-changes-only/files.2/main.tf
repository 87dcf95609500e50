output "sens" {
  value = "x"
}
output "chg" {
  value = null
}
