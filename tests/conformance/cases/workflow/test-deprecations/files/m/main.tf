output "old" {
  value      = 1
  deprecated = "Gone."
}
