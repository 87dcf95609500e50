output "a" {
}
output "b" {
  value     = 1
  sensitive = "maybe"
}
output "c" {
  value = sensitive("x")
}
output "d" {
  value      = 1
  depends_on = [terraform_data.none]
}
output "e-f" {
  value = 1
}
output "1g" {
  value = 1
}
output "h" {
  value       = 1
  description = 5
  bogus       = 1
}
output "i" {
  value     = 1
  ephemeral = true
}
