variable "n" {
  type = list(string)
}
output "n" {
  value = var.n
}

