variable "v" { type = string }
output "good" { value = "a" }
locals { q = tonumber("q") }
