output "m" { value = 1 }
