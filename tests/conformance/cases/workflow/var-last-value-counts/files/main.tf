variable "l" {
 type = list(string)
}
output "l" {
 value = var.l
}
