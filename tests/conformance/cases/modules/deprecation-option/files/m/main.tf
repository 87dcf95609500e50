output "old" {
  value      = 1
  deprecated = "use another"
}
