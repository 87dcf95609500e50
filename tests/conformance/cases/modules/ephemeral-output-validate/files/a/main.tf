variable "e" {
  ephemeral = true
  default   = "d"
}
output "o" {
  value = var.e
}
