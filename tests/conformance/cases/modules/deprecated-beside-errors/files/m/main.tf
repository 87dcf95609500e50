
output "old" {
  value      = "zone-a"
  deprecated = "use new"
}
