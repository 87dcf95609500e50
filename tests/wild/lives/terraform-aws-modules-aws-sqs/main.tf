# As examples/complete, without redrive_allow_policy, which moto has not.
data "aws_caller_identity" "current" {}

module "default" {
  source = "../.."

  name = "weft-wild-default"
}

module "fifo" {
  source = "../.."

  name       = "weft-wild"
  fifo_queue = true

  create_dlq                      = true
  create_dlq_redrive_allow_policy = false
  redrive_policy = {
    maxReceiveCount = 10
  }
}

module "policy" {
  source = "../.."

  name                    = "weft-wild-policy"
  use_name_prefix         = true
  sqs_managed_sse_enabled = true

  create_queue_policy = true
  queue_policy_statements = {
    account = {
      sid     = "AccountReadWrite"
      actions = ["sqs:SendMessage", "sqs:ReceiveMessage"]
      principals = [{
        type        = "AWS"
        identifiers = ["arn:aws:iam::${data.aws_caller_identity.current.account_id}:root"]
      }]
    }
  }

  tags = {
    Example = "complete"
  }
}

module "off" {
  source = "../.."
  create = false
}

output "urls" {
  value = [module.default.queue_url, module.fifo.queue_url, module.policy.queue_url]
}

output "dead" {
  value = module.fifo.dead_letter_queue_arn
}
