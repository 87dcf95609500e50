output "oldout" {
  value      = "s"
  deprecated = "use fine"
}
output "fine" {
  value = 1
}
