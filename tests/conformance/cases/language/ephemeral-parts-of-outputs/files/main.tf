variable "e" {
  ephemeral = true
  default   = "t"
}
output "o" { value = [var.e] }
