output "p" {
  value = local.nope
}
