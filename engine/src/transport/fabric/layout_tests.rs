//! The structures and tables are those of libfabric's headers, if the machine has them.

use super::structures::*;
use super::tables::*;
use std::mem::offset_of;
use std::process::Command;

/// A C program prints what `sizeof` and `offsetof` say, in the order in which it is asked.
fn asked_of_c(questions: &[String]) -> Option<Vec<usize>> {
    let folder = std::env::temp_dir().join(format!("unit-test-fabric-layout-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (source, program) = (folder.join("layout.c"), folder.join("layout"));
    let lines: String =
        questions.iter().map(|one| format!("printf(\"%zu\\n\", (size_t)({one}));\n")).collect();
    let headers = ["fabric", "fi_domain", "fi_endpoint", "fi_eq", "fi_rma", "fi_cm", "fi_errno"];
    let headers: String = headers.iter().map(|name| format!("#include <rdma/{name}.h>\n")).collect();
    let text = format!("#include <stddef.h>\n#include <stdio.h>\n#include <sys/uio.h>\n{headers}int main(void) {{\n{lines}}}\n");
    std::fs::write(&source, text).unwrap();
    let compiled = Command::new("cc").arg(&source).arg("-o").arg(&program).output();
    let answer = compiled.ok().filter(|output| output.status.success()).map(|_| {
        let said = Command::new(&program).output().unwrap();
        String::from_utf8(said.stdout).unwrap().lines().map(|line| line.parse().unwrap()).collect()
    });
    std::fs::remove_dir_all(&folder).unwrap();
    answer
}

macro_rules! layouts {
    ($($c:literal $type:ident { $($c_field:literal $field:ident),* $(,)? })*) => {
        vec![$($(
            (format!("offsetof({}, {})", $c, $c_field), offset_of!($type, $field)),
            (format!("sizeof((({} *)0)->{})", $c, $c_field), size_of_field(|one: &$type| &raw const one.$field)),
        )*)*]
    };
}

/// Bytes of a field, which is not looked at.
fn size_of_field<T, F>(_: impl Fn(&T) -> *const F) -> usize {
    size_of::<F>()
}

fn offers() -> Vec<(String, usize)> {
    layouts! {
        "struct fi_info" Info {
            "next" next, "caps" capabilities, "mode" mode, "addr_format" address_format,
            "src_addrlen" source_length, "dest_addrlen" destination_length, "src_addr" source,
            "dest_addr" destination, "handle" handle, "tx_attr" send, "rx_attr" receive, "ep_attr" endpoint,
            "domain_attr" domain, "fabric_attr" fabric, "nic" card,
        }
        "struct fi_tx_attr" SendAttributes {
            "caps" capabilities, "mode" mode, "op_flags" operation_flags, "msg_order" message_order,
            "comp_order" completion_order, "inject_size" inject_size, "size" size, "iov_limit" iov_limit,
            "rma_iov_limit" rma_iov_limit,
        }
        "struct fi_rx_attr" ReceiveAttributes {
            "caps" capabilities, "mode" mode, "op_flags" operation_flags, "msg_order" message_order,
            "comp_order" completion_order, "total_buffered_recv" total_buffered, "size" size, "iov_limit" iov_limit,
        }
        "struct fi_ep_attr" EndpointAttributes {
            "type" kind, "protocol" protocol, "protocol_version" protocol_version,
            "max_msg_size" longest_message, "msg_prefix_size" prefix_size, "mem_tag_format" tag_format,
            "auth_key_size" authorization_size, "auth_key" authorization,
        }
        "struct fi_domain_attr" DomainAttributes {
            "domain" domain, "name" name, "threading" threading, "control_progress" control_progress,
            "data_progress" data_progress, "resource_mgmt" resource_management, "av_type" address_vector,
            "mr_mode" memory_mode, "mr_key_size" key_size, "cntr_cnt" counter_count,
            "mr_iov_limit" memory_iov_limit, "caps" capabilities, "mode" mode, "auth_key" authorization,
            "auth_key_size" authorization_size, "max_err_data" error_data_size, "mr_cnt" memory_count,
        }
    }
}

fn structures() -> Vec<(String, usize)> {
    layouts! {
        "struct fi_fabric_attr" FabricAttributes {
            "fabric" fabric, "name" name, "prov_name" provider, "prov_version" provider_version,
            "api_version" interface_version,
        }
        "struct fi_cq_attr" QueueAttributes {
            "size" size, "flags" flags, "format" format, "wait_obj" wait_object, "signaling_vector" vector,
            "wait_cond" wait_condition, "wait_set" wait_set,
        }
        "struct fi_av_attr" AddressAttributes {
            "type" kind, "rx_ctx_bits" context_bits, "count" count, "ep_per_node" per_node, "name" name,
            "map_addr" map, "flags" flags,
        }
        "struct fi_cq_data_entry" Entry {
            "op_context" context, "flags" flags, "len" bytes, "buf" place, "data" data,
        }
        "struct fi_cq_err_entry" ErrorEntry {
            "op_context" context, "flags" flags, "len" bytes, "buf" place, "data" data, "tag" tag, "olen" too_many,
            "err" error, "prov_errno" providers_error, "err_data" error_data, "err_data_size" error_data_size,
        }
        "struct fi_msg" Message {
            "msg_iov" parts, "desc" descriptors, "iov_count" count, "addr" peer, "context" context, "data" data,
        }
    }
}

fn tables() -> Vec<(String, usize)> {
    layouts! {
        "struct fi_ops" ObjectTable { "size" size, "close" close, "bind" bind, "control" control }
        "struct fid_fabric" FabricObject { "fid" object, "ops" table }
        "struct fi_ops_fabric" FabricTable { "size" size, "domain" domain, "trywait" try_wait }
        "struct fid_domain" DomainObject { "fid" object, "ops" table, "mr" memory }
        "struct fi_ops_domain" DomainTable {
            "size" size, "av_open" addresses, "cq_open" queue, "endpoint" endpoint,
        }
        "struct fi_ops_mr" MemoryTable { "size" size, "reg" register }
        "struct fid_mr" MemoryObject { "fid" object, "mem_desc" descriptor, "key" key }
        "struct fid_av" AddressesObject { "fid" object, "ops" table }
        "struct fi_ops_av" AddressesTable { "size" size, "insert" insert }
        "struct fid_cq" QueueObject { "fid" object, "ops" table }
        "struct fi_ops_cq" QueueTable { "size" size, "read" read, "readerr" read_error }
        "struct fid_ep" EndpointObject {
            "fid" object, "ops" table, "cm" connections, "msg" messages, "rma" remote,
        }
        "struct fi_ops_ep" EndpointTable { "size" size, "setopt" set_option }
        "struct fi_ops_cm" ConnectionTable { "size" size, "getname" name }
        "struct fi_ops_msg" MessageTable { "size" size, "recvmsg" receive, "send" send, "inject" inject }
        "struct fi_ops_rma" RemoteTable { "size" size, "read" read }
    }
}

fn constants() -> Vec<(String, usize)> {
    let constants = [
        ("FI_MSG", MESSAGES as usize),
        ("FI_RMA", REMOTE_MEMORY as usize),
        ("FI_MULTI_RECV", MANY_MESSAGES as usize),
        ("FI_READ", READ as usize),
        ("FI_RECV", RECEIVE as usize),
        ("FI_SEND", SEND as usize),
        ("FI_REMOTE_READ", REMOTE_READ as usize),
        ("FI_CONTEXT", CONTEXT as usize),
        ("FI_CONTEXT2", CONTEXT2 as usize),
        ("FI_ORDER_SAS", SEND_AFTER_SEND as usize),
        ("FI_EP_RDM", RELIABLE_DATAGRAMS as usize),
        ("FI_THREAD_SAFE", THREAD_SAFE as usize),
        ("FI_MR_LOCAL", MEMORY_LOCAL as usize),
        ("FI_MR_VIRT_ADDR", MEMORY_VIRTUAL as usize),
        ("FI_MR_ALLOCATED", MEMORY_ALLOCATED as usize),
        ("FI_MR_PROV_KEY", MEMORY_PROVIDERS_KEY as usize),
        ("FI_MR_ENDPOINT", MEMORY_OF_ENDPOINT as usize),
        ("FI_CQ_FORMAT_DATA", FORMAT_DATA as usize),
        ("FI_WAIT_FD", WAIT_DESCRIPTOR as usize),
        ("FI_GETWAIT", GET_WAIT as usize),
        ("FI_ENABLE", ENABLE as usize),
        ("FI_OPT_ENDPOINT", OPTION_ENDPOINT as usize),
        ("FI_OPT_MIN_MULTI_RECV", OPTION_LEAST_ROOM as usize),
        ("FI_SOCKADDR_IN", ADDRESS_IPV4 as usize),
        ("FI_SOCKADDR_IN6", ADDRESS_IPV6 as usize),
        ("FI_EAGAIN", -AGAIN as usize),
        ("FI_EAVAIL", -ERROR_WAITS as usize),
        ("FI_ENOKEY", -KEY_IN_USE as usize),
        ("sizeof(struct fi_context2)", size_of::<ProvidersOwn>()),
    ];
    constants.map(|(name, value)| (name.to_owned(), value)).into()
}

#[test]
fn structures_and_tables_are_those_of_the_headers() {
    let all = [offers(), structures(), tables(), constants()].concat();
    let questions: Vec<String> = all.iter().map(|(question, _)| question.clone()).collect();
    let Some(answers) = asked_of_c(&questions) else {
        println!(
            "skipped: there is no C compiler here, or libfabric's headers are not (Debian: libfabric-dev)"
        );
        return;
    };
    for ((question, ours), headers) in all.into_iter().zip(answers) {
        assert_eq!(ours, headers, "{question}");
    }
}
