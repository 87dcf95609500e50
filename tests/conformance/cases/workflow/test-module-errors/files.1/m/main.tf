output "m" { value = var.none }
